"""Groups: what every kind of group has, and a folder for each kind."""
