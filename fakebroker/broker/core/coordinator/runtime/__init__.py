"""What all coordinators have in common: shards of an internal topic, and their loading. Kafka: `common.runtime`."""
