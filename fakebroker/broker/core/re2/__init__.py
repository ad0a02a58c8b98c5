"""Regular expressions in the syntax of RE2, matched in a time that the pattern bounds."""
