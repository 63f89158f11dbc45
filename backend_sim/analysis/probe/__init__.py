"""`ahbmc probe`: how long single messages take on an idle machine, by closed forms, and what makes that time."""
