"""Snapshots: the durable state of a broker as a value that can be kept, written to a file, restored and forked."""
