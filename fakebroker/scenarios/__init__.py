"""Scenarios: an incident written in YAML, played in virtual time, under a user's own client, or on a real Kafka."""
