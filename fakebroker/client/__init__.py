"""A Kafka client without input and output: bytes to send come out, bytes received go in."""
