"""Parts of a snapshot that are made of another Kafka's logs and settings."""
