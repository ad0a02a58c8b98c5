"""Clones: the topics, groups and offsets of a running Kafka as a snapshot, with or without its records."""
