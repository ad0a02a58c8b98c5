"""Groups of a real Kafka, from the segments of its `__consumer_offsets`."""

from functools import cache
from pathlib import Path

import pytest

from fakebroker.analysis.history.compile.anonymise import HashedNames, PlainNames
from fakebroker.analysis.history.compile.scenario import compiled
from fakebroker.analysis.history.compile.window import UnplayableGroup, window_of
from fakebroker.analysis.history.reading import read_history
from tests.analysis.history.compile.tables_of import Rows, of_group, of_rows

LOG = Path(__file__).resolve().parents[3] / "data" / "history" / "kafka-4.3.1"


@cache
def tables() -> dict[str, Rows]:
    """The tables of the log."""
    return of_rows(list(read_history([LOG])))


@pytest.mark.parametrize("group_id", ["billing-ü", "exactly-once", "modern", "python", "simple", "static"])
def test_a_group_of_a_real_kafka(group_id: str) -> None:
    """Its whole history compiles and passes, with names and without."""
    rows = of_group(tables(), group_id)
    times = [row["at"] for row in rows["commits"]] + [row["began_at"] for row in rows["group_states"]]
    window = window_of(rows, group_id, min(times), max(times))
    assert len(window.events) > 1
    assert compiled(window, PlainNames()).problems == []
    assert compiled(window, HashedNames(b"a secret of the tests")).problems == []


@pytest.mark.parametrize(("group_id", "kind"), [("shared", "share"), ("app", "streams")])
def test_the_other_groups_of_a_real_kafka(group_id: str, kind: str) -> None:
    """They are refused by their kind."""
    rows = of_group(tables(), group_id)
    with pytest.raises(UnplayableGroup, match=f"{group_id} is a {kind} group"):
        window_of(rows, group_id, 0, 1 << 42)
