"""The files of a Kafka log directory as values: names, indexes, producer snapshots, checkpoints, properties."""
