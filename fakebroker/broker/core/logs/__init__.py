"""Partition logs: what is stored, found, produced, fetched and thrown away."""
