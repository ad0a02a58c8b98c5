"""Copies of the data directories of a Kafka, read as a snapshot. Nothing in them is changed."""
