"""Classic groups: the state machine and what it works on."""
