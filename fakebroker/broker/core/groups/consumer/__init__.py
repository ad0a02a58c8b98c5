"""Consumer groups (KIP-848): the coordinator assigns partitions, members learn of it with their heartbeats."""
