"""The drawings of docs/pictures/states: a layout for each state machine; states and arrows are those of its table."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fakebroker.broker.core.groups.classic import states as classic
from fakebroker.broker.core.groups.consumer import states as consumer
from fakebroker.broker.core.groups.share import states as share
from fakebroker.broker.core.groups.streams import states as streams
from fakebroker.broker.core.share_partitions import states as records
from fakebroker.broker.core.transactions import states as transactions
from tools.state_diagram import END, START, Arrow, Layout, Position, Route, gathered, state_diagram


def classic_group() -> str:
    """The states of a classic group."""
    arrows = [Arrow(before, after, trigger.value) for (before, trigger), after in classic.TRANSITIONS.items()]
    arrows = gathered(arrows, classic.State.DEAD, classic.Trigger.REMOVED.value, "any state")
    arrows += [Arrow(START, classic.State.EMPTY), Arrow(classic.State.DEAD, END)]
    places = {
        START: Position(-0.45, 0),
        "Empty": Position(0, 0),
        "PreparingRebalance": Position(2.4, 0),
        "CompletingRebalance": Position(2.4, 1.7),
        "Stable": Position(0, 1.7),
        "any state": Position(0, 2.5),
        "Dead": Position(2.4, 2.5),
        END: Position(2.8, 2.5),
    }
    routes = {
        ("PreparingRebalance", "CompletingRebalance"): Route(0.6),
        ("CompletingRebalance", "PreparingRebalance"): Route(0.6),
    }
    return state_diagram("States of a classic group", arrows, Layout(places, routes))


def transactional_id() -> str:
    """The states of a transactional id."""
    names = {state: state.kafka_name for state in transactions.TransactionState}
    arrows = [
        Arrow(names[before], names[after], why.value) for (before, why), after in transactions.TRANSITIONS.items()
    ]
    ended = "Empty, CompleteCommit or CompleteAbort"
    arrows = gathered(arrows, "Dead", transactions.Trigger.REMOVED.value, ended)
    arrows += [Arrow(START, "Empty"), Arrow("Dead", END)]
    places = {
        START: Position(-0.45, 1.3),
        "Empty": Position(0, 1.3),
        "Ongoing": Position(1.5, 1.3),
        "PrepareCommit": Position(2.2, 0),
        "CompleteCommit": Position(3.7, 0),
        "PrepareAbort": Position(2.2, 2.6),
        "CompleteAbort": Position(3.7, 2.6),
        ended: Position(0.5, 3.7),
        "Dead": Position(2.2, 3.7),
        END: Position(2.6, 3.7),
    }
    routes = {
        ("CompleteCommit", "Empty"): Route(-0.4),
        ("CompleteAbort", "Empty"): Route(0.4),
        ("Empty", "PrepareAbort"): Route(-0.05),
        ("CompleteCommit", "PrepareAbort"): Route(0, 0.4),
        ("CompleteCommit", "Ongoing"): Route(0, 0.4),
        ("CompleteAbort", "Ongoing"): Route(0, 0.4),
    }
    return state_diagram("States of a transactional id", arrows, Layout(places, routes))


def share_group() -> str:
    """The states of a share group."""
    arrows = [Arrow(START, "Empty"), *_arrows(share.GROUP_TRANSITIONS), Arrow("Dead", END)]
    places = {
        START: Position(-0.45, 0),
        "Empty": Position(0, 0),
        "Stable": Position(1.7, 0),
        "Dead": Position(0, 1),
        END: Position(0.45, 1),
    }
    return state_diagram("States of a share group", arrows, Layout(places))


def share_group_partition() -> str:
    """What a share group knows of the state of a share partition."""
    arrows = gathered(
        _arrows(share.PARTITION_TRANSITIONS), "Unknown", share.PartitionEvent.FORGOTTEN.value, "any other state"
    )
    places = {
        START: Position(-0.5, 0),
        "Unknown": Position(0, 0),
        "Initializing": Position(1.8, 0),
        "Initialized": Position(3.9, 0),
        "any other state": Position(0, 1.5),
        "Deleting": Position(1.8, 1.5),
        "Initialized and Initializing": Position(3.9, 1.5),
    }
    both = "Initialized and Initializing"
    routes = {
        ("Initialized", both): Route(-0.75),
        (both, "Initialized"): Route(-0.75),
        (both, both): Route(-1),
        ("Initialized", "Deleting"): Route(0, 0.6),
    }
    return state_diagram(
        "A share partition as its group knows it", [Arrow(START, "Unknown"), *arrows], Layout(places, routes)
    )


def share_record() -> str:
    """The states of a record in a share partition."""
    arrows = [Arrow(START, "Available")]
    for (before, event), ends in records.TRANSITIONS.items():
        for number, after in enumerate(dict.fromkeys(ends)):
            text = f"{event.value} at the limit" if number else event.value
            arrows.append(Arrow(before.kafka_name, after.kafka_name, text))
    arrows += [Arrow(state, END, "the start moves over it") for state in ("Acknowledged", "Archived")]
    places = {
        START: Position(-0.5, 0),
        "Available": Position(0, 0),
        "Acquired": Position(2.2, 0),
        "Acknowledged": Position(3.7, 0),
        "Archived": Position(2.2, 2),
        END: Position(3.7, 2),
    }
    return state_diagram("States of a record in a share partition", arrows, Layout(places, wrap=36))


def consumer_group_member() -> str:
    """The states of a member of a consumer group."""
    first = consumer.MemberState.STABLE.text
    arrows = [
        Arrow(START, consumer.ABSENT),
        Arrow(consumer.ABSENT, first, "it joins, and has nothing yet"),
        *_looks((state.text for state in consumer.MemberState), consumer.NEXT_STATE),
        Arrow(first, consumer.AWAY, "a static member leaves with -2, in any state"),
        Arrow(consumer.AWAY, first, "it comes back, in the state that it had"),
        Arrow(first, END, "it leaves or a timer removes it, in any state"),
    ]
    return state_diagram("States of a member of a consumer group", arrows, _member_layout("Partitions", True))


def streams_group_member() -> str:
    """The states of a member of a streams group."""
    first = streams.MemberState.STABLE.text
    arrows = [
        Arrow(START, streams.ABSENT),
        Arrow(streams.ABSENT, first, "it joins, and has nothing yet"),
        *_looks((state.text for state in streams.MemberState), streams.NEXT_STATE),
        Arrow(first, END, "it leaves or a timer removes it, in any state"),
    ]
    return state_diagram("States of a member of a streams group", arrows, _member_layout("Tasks", False))


DIAGRAMS: dict[str, Callable[[], str]] = {
    "classic-group": classic_group,
    "consumer-group-member": consumer_group_member,
    "share-group": share_group,
    "share-group-partition": share_group_partition,
    "share-record": share_record,
    "streams-group-member": streams_group_member,
    "transactional-id": transactional_id,
}
"""The drawings by the names of their files in docs/pictures/states."""


def shown(name: str) -> str:
    """A drawing as a line of Markdown in docs/reference."""
    about = re.search('aria-label="(.*?)"', DIAGRAMS[name]())
    assert about is not None
    return f"![{about[1]}](../pictures/states/{name}.svg)"


def _arrows(table: Mapping[tuple[Any, Any], Any]) -> list[Arrow]:
    return [Arrow(before.value, after.value, event.value) for (before, event), after in table.items()]


def _looks(states: Iterable[str], table: Mapping[Any, Any]) -> list[Arrow]:
    return [Arrow(before, after.text, step.value) for before in states for step, after in table.items()]


def _member_layout(what: str, is_static: bool) -> Layout:
    unrevoked, unreleased = f"Unrevoked{what}", f"Unreleased{what}"
    places = {
        START: Position(-0.45, 0),
        "Absent": Position(0, 0),
        "Stable": Position(1.7, 0),
        END: Position(3.4, 0),
        unrevoked: Position(0.2, 2.1),
        unreleased: Position(3.2, 2.1),
    }
    routes = {("Stable", "Stable"): Route(-1), (unrevoked, unrevoked): Route(-1), (unreleased, unreleased): Route(-1)}
    if is_static:
        places["Away"] = Position(1.7, -1.4)
        routes |= {("Stable", "Away"): Route(0.9), ("Away", "Stable"): Route(0.9)}
    return Layout(places, routes)
