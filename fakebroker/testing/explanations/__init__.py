"""Output for people: the story of a failed test, a log line for every request, and a writer that never blocks."""
