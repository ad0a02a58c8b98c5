"""Committed offsets: the cache, what is stored, and when they expire."""
