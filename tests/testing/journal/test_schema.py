"""The schema: every event has a kind, every column a meaning and one type, and the checks see what is wrong."""

import inspect
from typing import Any, NamedTuple, get_args

import pytest

from fakebroker.broker.core import events as core_events
from fakebroker.broker.engine import journal as engine_journal
from fakebroker.broker.engine.journal import Event, Recorded
from fakebroker.protocol.instant import Instant
from fakebroker.testing.exchanges.columns import Column, problems
from fakebroker.testing.explanations.event_wording import kind_name
from fakebroker.testing.journal.rows import rows_of
from fakebroker.testing.journal.schema import (
    COMMON,
    EVENTS,
    JOURNAL,
    KIND_OF_EVENT,
    KINDS,
    SPARK_TYPES,
    all_columns,
    columns_of,
    json_schema,
    line_class,
    spark_ddl,
)

NO_EVENTS = {
    "CoordinatorRecord",
    "OffsetDeleted",
    "TopicPartition",
    "Peer",
    "Recorded",
    "EventEntry",
    "OffsetExpired",
    "_Chunk",
}  # what events are made of


def named_tuples(module: Any) -> set[type[Any]]:
    return {
        found for found in vars(module).values() if inspect.isclass(found) and issubclass(found, tuple) and
        found.__module__.startswith("fakebroker.") and hasattr(found, "_fields")
    }  # fmt: skip


def test_every_event_of_core_and_engine_has_a_kind() -> None:
    """An event class that is not in `Event` would be written without a declaration."""
    classes = {c for c in named_tuples(core_events) if c.__name__ not in NO_EVENTS}
    classes |= {
        c
        for c in named_tuples(engine_journal)
        if c.__module__ == engine_journal.__name__ and c.__name__ not in NO_EVENTS
    }

    assert {c.__name__ for c in classes} - {c.__name__ for c in EVENTS} == set()
    assert set(get_args(Event)) == set(KIND_OF_EVENT)
    assert set(KIND_OF_EVENT.values()) <= set(KINDS)


def test_a_new_event_is_a_kind_by_its_fields() -> None:
    """Name, columns and types come from the class: nothing else is to be written."""

    class FaultSeen(NamedTuple):
        """A fault was seen."""

        fault_id: int
        group_id: str | None
        delay_s: float
        hosts: tuple[str, ...]
        detail: dict[str, int]
        node_id: int

    assert kind_name(FaultSeen) == "fault_seen"
    assert line_class(FaultSeen) is FaultSeen
    assert columns_of(FaultSeen) == (
        Column("fault_id", "int", False),
        Column("group", "string", True),
        Column("delay_s", "float", False),
        Column("hosts", "strings", False),
        Column("detail", "json", False),
    )
    event: Any = FaultSeen(1, None, 0.5, ("a",), {"x": 1}, 2)
    (row,) = rows_of(Recorded(7, Instant(1, 2), event), "r")
    assert {**row, "run": ""} == {
        "schema_version": 1, "run": "", "seq": 7, "part": 0, "kind": "fault_seen", "wall_ms": 1, "mono_ms": 2,
        "node": 2, "connection": None, "client": None, "fault_id": 1, "group": None, "delay_s": 0.5, "hosts": ["a"],
        "detail": {"x": 1},
    }  # fmt: skip


LINE = {
    "schema_version": 1, "run": "r", "seq": 3, "part": 0, "kind": "node_changed", "wall_ms": 5, "mono_ms": 6, "node": 1,
    "connection": None, "client": None, "what": "stopped",
}  # fmt: skip


def test_a_right_line_has_no_problems() -> None:
    """Further columns are no problem: a newer broker may write them."""
    assert list(problems(LINE, JOURNAL)) == []
    assert list(problems({**LINE, "later": 1}, JOURNAL)) == []


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ({**LINE, "seq": "3"}, "seq is '3', not an integer"),
        ({**LINE, "seq": True}, "seq is True, not an integer"),
        ({**LINE, "what": None}, "what is None, not a string"),
        ({**LINE, "kind": "node_chnged"}, "there is no kind 'node_chnged'; did you mean 'node_changed'?"),
        ({key: value for key, value in LINE.items() if key != "what"}, "what is missing"),
        ([], "a line must be an object, not []"),
    ],
)
def test_a_wrong_line_is_seen(line: Any, problem: str) -> None:
    """The check names the column and what it has."""
    assert list(problems(line, JOURNAL)) == [problem]


def test_the_json_schema_and_the_ddl_have_every_column() -> None:
    """What is generated for other tools comes from the same declarations."""
    schema = json_schema()
    assert [kind["properties"]["kind"]["const"] for kind in schema["oneOf"]] == list(KINDS)
    assert schema["required"] == [column.name for column in COMMON]
    assert spark_ddl().count(",") == len(all_columns()) - 1
    assert {column.type for column in all_columns().values()} <= set(SPARK_TYPES)
