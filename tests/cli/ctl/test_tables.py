"""Answers as tables for people."""

import pytest

from fakebroker.cli.ctl.tables import text_of


def test_an_address_is_written_as_in_options() -> None:
    """HOST:PORT, not the fields of an object."""
    assert text_of([{"node_id": 1, "address": {"host": "h", "port": 9092}}]) == "NODE ID  ADDRESS\n1        h:9092"


def test_points_in_time_are_dates() -> None:
    """In UTC with milliseconds; durations and the largest numbers stay numbers."""
    rows = [{"timestamp_ms": 1_763_942_400_007, "timeout_ms": 45_000, "retention_ms": 2**63 - 1}]

    assert text_of(rows).splitlines() == [
        "TIMESTAMP                 TIMEOUT MS  RETENTION MS",
        f"2025-11-24T00:00:00.007Z  45000       {2**63 - 1}",
    ]


@pytest.mark.parametrize("is_terminal", [True, False])
def test_long_values_are_cut_only_in_a_terminal(is_terminal: bool) -> None:
    """What goes through a pipe is whole, and so is every field of a single object."""
    value = "x" * 100

    assert (value in text_of([{"name": value}], is_terminal=is_terminal)) is not is_terminal
    assert value in text_of({"names": [value]}, is_terminal=is_terminal)
