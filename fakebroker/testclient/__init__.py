"""A Kafka client whose every step is taken by the test, and the drivers that carry its bytes: TCP, or virtual time."""
