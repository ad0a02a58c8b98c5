"""A Kafka client whose every step is taken by the test, and its drivers: over TCP, or in virtual time."""
