"""Spark finds this module by the beginning of its name: with it `format("fakebroker")` needs no registration."""

from fakebroker.analysis.pipeline.kafka_source.source import FakebrokerSource as DefaultSource

__all__ = ["DefaultSource"]
