"""The ends of logs that a running Kafka was asked for, of which `log_ends` is made: not published."""

from fakebroker.analysis.pipeline.tables import log_ends

TABLE = log_ends.TABLE
