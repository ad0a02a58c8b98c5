"""The states of groups, as spans of time."""

from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from fakebroker.pipeline.group_answers import JoinAnswer, join_answer
from fakebroker.pipeline.group_records import sorted_records
from fakebroker.pipeline.group_spans import spans
from fakebroker.pipeline.group_transitions import LOADED, is_unload
from fakebroker.pipeline.tables.group_states import TABLE

Row = dict[str, Any]


def group_states(coordinator_records: Iterable[Row], events: Iterable[Row]) -> list[Row]:
    """The table `group_states`, group by group, in the order of the log or the journal."""
    found = list(spans(sorted_records(coordinator_records)))
    found += journal_spans(events)
    _set_ends(found)
    return [{name: row[name] for name in TABLE.column_names} for row in found]


def journal_spans(events: Iterable[Row]) -> Iterator[Row]:
    """The spans that begin with `transition` lines, but for their ends."""
    steps = sorted(_steps(events), key=lambda step: (step.source, step.group_id, step.seq, step.part))
    for _, group in groupby(steps, key=lambda step: (step.source, step.group_id)):
        yield from _spans_of_group(group)


class _Step(NamedTuple):
    """A transition of a group, or a member of it that was answered."""

    source: str
    group_id: str
    seq: int
    part: int
    transition: Row | None
    answer: JoinAnswer | None


def _steps(events: Iterable[Row]) -> Iterator[_Step]:
    for row in events:
        if row["kind"] == "transition":
            yield _Step(row["run"], row["group"], row["seq"], row["part"], row, None)
        elif row["kind"] == "request" and row["api"] == "JoinGroup" and row["errors"] == []:
            answer = join_answer(row["request"], row["response"])
            if answer is not None:
                yield _Step(row["run"], answer.group_id, row["seq"], row["part"], None, answer)


class _Stored(NamedTuple):
    """What the log has of a group: it is written when it becomes Stable or Empty."""

    state: str
    generation: int
    at: int


def _spans_of_group(steps: Iterable[_Step]) -> Iterator[Row]:
    """The spans of one group. An answer says what the generation is whose number it has."""
    answered: JoinAnswer | None = None
    led: JoinAnswer | None = None
    stored: _Stored | None = None
    for step in steps:
        if step.answer is not None:
            answered = step.answer
            led = answered if answered.members is not None else led
            continue
        row = step.transition
        assert row is not None
        moved = is_unload(row["after"], row["reason"])
        state, generation, state_at = row["after"], row["generation"], row["wall_ms"]
        if moved:
            state, generation, state_at = stored or ("Empty", 0, None)
        elif row["reason"] == LOADED:
            state_at = stored.at if stored else None
        elif state == "Dead":
            stored = None
        elif state in ("Stable", "Empty"):
            stored = _Stored(state, generation, state_at)
        is_simple = moved and stored is None
        yield {
            "group_id": step.group_id,
            "group_type": "classic",
            "state": state,
            "generation": generation,
            **_generation_facts(state, generation, answered, led, is_simple=is_simple),
            "state_at": state_at,
            "began_at": row["wall_ms"],
            "ended_at": None,
            "reason": row["reason"],
            "source": step.source,
            "log_partition": None,
            "log_offset": None,
            "seq": step.seq,
            "part": step.part,
        }


def _generation_facts(
    state: str, generation: int, answered: JoinAnswer | None, led: JoinAnswer | None, *, is_simple: bool
) -> Row:
    """Protocol, leader, members and topics of a span, as far as an answer for its generation tells them."""
    protocol_type = "" if is_simple else answered.protocol_type if answered is not None else None
    if state in ("Empty", "Dead"):
        return {
            "protocol_type": protocol_type,
            "protocol": None,
            "leader": None,
            "members": 0,
            "subscribed_topics": [],
        }
    known = answered if answered is not None and answered.generation == generation else None
    told = led if led is not None and led.generation == generation else None
    return {
        "protocol_type": protocol_type,
        "protocol": known.protocol if known else None,
        "leader": known.leader if known else None,
        "members": told.members if told and state != "PreparingRebalance" else None,
        "subscribed_topics": told.group_topics if told else None,
    }


def _set_ends(found: list[Row]) -> None:
    """A span ends with the beginning of the next one of its group."""
    for row, following in pairwise(found):
        if (row["source"], row["group_id"]) == (following["source"], following["group_id"]):
            row["ended_at"] = following["began_at"]
