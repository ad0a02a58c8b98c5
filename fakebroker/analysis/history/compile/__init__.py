"""A window of a group's history as a scenario that plays it again, anonymised if wanted."""
