"""Consumer groups (KIP-848): the coordinator assigns partitions, members are told with their heartbeats."""
