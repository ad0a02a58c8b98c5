"""Recorded dialogues with a real Kafka: read, played against this broker or another, compared."""
