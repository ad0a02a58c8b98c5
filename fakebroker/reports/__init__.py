"""What the broker tells people: the story of a failed test, a line for every request, lines that nobody waits for."""
