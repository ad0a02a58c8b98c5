"""The data directory: what writes the state of a broker to files in Kafka's format, and reads it again."""
