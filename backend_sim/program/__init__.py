"""A lowered kernel as Python closures that give its commands one by one, and which of its programs run alike."""
