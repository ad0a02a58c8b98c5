"""Generators of pages and test data, and programs that ask a running Kafka; not part of the package."""
