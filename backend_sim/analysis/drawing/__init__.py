"""A machine as a picture: what `ahbmc machines NAME --svg F` draws, from the SIPs down to the engines of one PE."""
