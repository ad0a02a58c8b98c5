"""Playing a scenario: its actors, its steps, what it expects, and the broker that it is played on."""
