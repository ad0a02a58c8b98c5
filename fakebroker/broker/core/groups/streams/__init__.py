"""Streams groups (KIP-1071): the coordinator knows the application's topology and assigns its tasks."""
