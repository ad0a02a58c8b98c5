"""Scenarios on a real Kafka, and what clients see there and here compared."""
