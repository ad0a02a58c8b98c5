"""The gate of `make instructions`: what it lets through, and that its table is of the cases that are counted."""

import json

from bench.counted_cases import CASES
from bench.counted_expiry import EXPIRY_CASES
from bench.counted_loop import HEARTBEAT_LOOP
from bench.instructions import TABLE, judged


def test_three_percent_more_pass_and_more_than_that_does_not() -> None:
    """A case may cost 3 % more than the table says, and any amount less."""
    table = {"a": 10_000}

    assert [good for cost in (5_000, 10_000, 10_300, 10_301) for _, good in judged({"a": cost}, table)] == [
        True,
        True,
        True,
        False,
    ]


def test_a_case_that_the_table_lacks_does_not_pass() -> None:
    """A new case comes with its row."""
    ((line, good),) = judged({"new": 1}, {"old": 1})

    assert not good
    assert "NOT IN THE TABLE" in line


def test_the_table_has_the_cases_that_are_counted() -> None:
    """No row is of a case that is gone, and none is missing."""
    counted = {*(case.name for case in CASES), *(case.name for case in EXPIRY_CASES), HEARTBEAT_LOOP}
    assert set(json.loads(TABLE.read_text())["instructions"]) == counted
