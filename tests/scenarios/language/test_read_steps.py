"""Steps as the player takes them, and what is said of those that cannot be."""

from datetime import UTC, datetime

import pytest

from fakebroker.client.record_steps import ProducedRecord
from fakebroker.scenarios.script import Answered, AnyOrder, ClientStep, Expect, Pass, PowerStep, Repeat, Silent
from fakebroker.testing.handles.expectation import RequestPattern
from tests.scenarios.texts import FIRST_LINE, problem_of, problems_of, step_of, steps_of, with_steps

# Actors


@pytest.mark.parametrize(
    ("line", "verb", "arguments"),
    [
        ("{a: join billing, topics: [orders], session_timeout: 10s, rebalance_timeout_ms: 5}", "join",
         {"group_id": "billing", "topics": ["orders"], "session_timeout_ms": 10_000, "rebalance_timeout_ms": 5}),
        ("{a: join my group}", "join", {"group_id": "my group"}),
        ("{a: join, group_id: billing}", "join", {"group_id": "billing"}),
        ("{a: join billing, metadata: abc}", "join", {"group_id": "billing", "metadata": b"abc"}),
        ("{a: join billing, metadata: {hex: 00ff}}", "join", {"group_id": "billing", "metadata": b"\0\xff"}),
        ("{a: rejoin}", "rejoin", {}),
        ("{a: sync, assignments: {a: {orders: [0, 1]}, b: {}}}", "sync",
         {"assignments": {"a": {"orders": [0, 1]}, "b": {}}}),
        ("{a: commit, offsets: {orders-0: 42, a-b-1: 3}}", "commit", {"offsets": {("orders", 0): 42, ("a-b", 1): 3}}),
        ("{a: committed billing, partitions: [orders-0]}", "committed",
         {"group_id": "billing", "partitions": [("orders", 0)]}),
        ("{a: committed billing, partitions: null}", "committed", {"group_id": "billing", "partitions": None}),
        ("{a: fetch orders-0, offset: 5, max_wait: 1s}", "fetch",
         {"topic": "orders", "partition": 0, "offset": 5, "max_wait_ms": 1000}),
        ("{a: fetch orders, partition: 1, offset: 5}", "fetch", {"topic": "orders", "partition": 1, "offset": 5}),
        ("{a: fetch, topic: orders, partition: 1, offset: 5}",
         "fetch", {"topic": "orders", "partition": 1, "offset": 5}),
        ("{a: produce orders-0, records: [x, [k, v], [null, w], {key: k, headers: {h: v}}]}", "produce",
         {"topic": "orders", "partition": 0,
          "records": ["x", ("k", "v"), (None, "w"), ProducedRecord(key="k", headers={"h": "v"})]}),
        ("{a: produce orders-0, records: [x], timestamp: '2026-01-01T00:00:01Z'}", "produce",
         {"topic": "orders", "partition": 0, "records": ["x"], "timestamp_ms": 1_767_225_601_000}),
        ("{a: connect 2}", "connect", {"node": 2}),
        ("{a: consume billing, topics: [orders]}", "consume", {"group_id": "billing", "topics": ["orders"]}),
        ("{a: request OffsetFetch, version: 7, group_id: billing, topics: null}", "request",
         {"api_name": "OffsetFetch", "version": 7, "group_id": "billing", "topics": None}),
        ("{a: request JoinGroup, session_timeout: 10s, protocols: [{name: range, metadata: {subscription: [orders]}}]}",
         "request", {"api_name": "JoinGroup", "session_timeout_ms": 10_000,
                     "protocols": [{"name": "range", "metadata": {"subscription": ["orders"]}}]}),
        ("{a: request Heartbeat, hex: 000c0004}", "request", {"api_name": "Heartbeat", "hex": "000c0004"}),
    ],
)  # fmt: skip
def test_actors_take_steps_with_arguments_ready_for_the_call(line: str, verb: str, arguments: object) -> None:
    """The text after the verb is the first argument, the other keys are the others."""
    step = step_of(line)

    assert isinstance(step, ClientStep)
    assert (step.actor, step.verb, step.arguments) == ("a", verb, arguments)
    assert (step.expected, step.save, step.is_later) == (None, {}, False)


def test_a_step_may_be_awaited_later() -> None:
    """`later`, `answered` and `silent` are for requests that wait."""
    first, silent, answered = steps_of(
        "{a: join billing, later: true, expect: {error: NONE}, save: {id: member_id}}",
        "{a: silent, for: 100ms}",
        "{a: answered, within: 3s, expect: {member_id: $id}, save: {leader: members.0.member_id}}",
    )

    assert isinstance(first, ClientStep)
    assert (first.is_later, first.expected, first.save) == (True, {"error": "NONE"}, {"id": "member_id"})
    assert isinstance(silent, Silent)
    assert (silent.actor, silent.for_ms) == ("a", 100)
    assert isinstance(answered, Answered)
    assert (answered.within_ms, answered.expected) == (3000, {"member_id": "$id"})
    assert answered.save == {"leader": "members.0.member_id"}
    assert step_of("{a: answered}").within_ms == 10_000


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{a: jion billing}", "a: an actor (a) has no verb 'jion'; did you mean 'join' or 'rejoin'?"),
        ("{a: join}", "group_id: is missing; join needs a text"),
        ("{a: commit}", "offsets: is missing; commit needs a mapping by topic and partition"),
        ("{a: fetch orders, offset: 1}", "a: should be a topic and a partition, such as orders-0, not 'orders'"),
        ("{a: rejoin billing}", "a: 'billing' is not allowed after 'rejoin'"),
        ("{a: join billing, topcs: [orders]}", "topcs: join has no such argument; did you mean 'topics'"),
        ("{a: join billing, topics: orders}", "topics: should be a list, not 'orders'; a list of one is [orders]"),
        ("{a: join billing, session_timeout: 10}",
         "session_timeout: should be a duration (250ms, 10s, 1h 10m, 3d), not 10"),
        ("{a: join billing, session_timeout_ms: 10s}",
         "session_timeout_ms: should be a whole number, not '10s'; session_timeout takes a duration"),
        ("{a: join billing, session_timeout_ms: 1, session_timeout: 10s}",
         "session_timeout: session_timeout_ms is given twice"),
        ("{a: commit, offsets: {orders: 42}}",
         "offsets: should be a topic and a partition, such as orders-0, not 'orders'"),
        ("{a: commit, offsets: {orders-0: x}}", "offsets: should be a whole number, not 'x'"),
        ("{a: join billing, expect: NONE}", "expect: should be a mapping of fields: {error: NONE}, not 'NONE'"),
        ("{a: join billing, expect: {generaton_id: 1}}",
         "generaton_id: the answer has no such field; did you mean 'generation_id'"),
        ("{a: join billing, expect: {error: MEMBER_ID_REQIRED}}",
         "error: Kafka has no error 'MEMBER_ID_REQIRED'; did you mean 'MEMBER_ID_REQUIRED'"),
        ("{a: join billing, expect: {generation_id: {at_least: x}}}",
         "generation_id: the matcher at_least takes a number, not 'x'"),
        ("{a: join billing, expect: {leader: {matches: '('}}}",
         "leader: the matcher matches takes a regular expression, not '('"),
        ("{a: join billing, expect: {members: {unordered: 3}}}", "members: the matcher unordered takes a list, not 3"),
        ("{a: join billing, expect: {members: {at_least: 1, at_most: 3}}}",
         "members: a matcher must be the only key, but there are at_least and at_most"),
        ("{a: heartbeat, expect: {error: 25}}",
         "error: should be the name of an error, not its number: UNKNOWN_MEMBER_ID"),
        ("{a: produce orders-0, records: [x], expect: {offset: 0}}", "offset: the answer has no such field; "),
        ("{a: heartbeat, expect: {members: 1}}", "members: the answer has no such field; there are error, closed"),
        ("{a: heartbeat, b: heartbeat}", "b: heartbeat has no such argument; a step is about a or about b, not both"),
        ("{a: heartbeat, clock: freeze}", "clock: heartbeat has no such argument; a step is about a or about clock"),
        ("{a: produce orders-0, records: [{val: x}]}", "records: there is no field 'val'; did you mean 'value'?"),
        ("{a: produce orders-0, records: [{hxe: '00'}]}", "records: there is no field 'hxe'; did you mean 'hex'?"),
        ("{a: produce orders-0, records: [[k, v, w]]}", "records: should be a list of 2, not of 3"),
        ("{a: join billing, save: {x: membr_id}}",
         "save: the answer has no field 'membr_id'; did you mean 'member_id'"),
        ("{a: join $a.memberid}", "a: an actor has no 'memberid'; did you mean 'member_id'"),
        ("{a: request OffsetFetch, version: 99}", "version: OffsetFetch has no version 99; there are 0 to 10"),
        ("{a: request}", "a: the name of the request is missing (request OffsetFetch, group_id: billing)"),
        ("{a: join billing, save: {'1': member_id}}", "save: '1' is not a name: use letters, digits, _ and -"),
        ("{a: join billing, save: {b: member_id}}", "save: 'b' is already the name of an actor"),
        ("{a: join billing, later: yes}", "later: should be true or false, not 'yes'"),
        ("{a: pause, expect: {}}", "expect: pause has no such argument; there is only note"),
        ("{a: join $nobody}", "a: no earlier step saves 'nobody'; there are a, b"),
        ("{a: [join]}", "a: should be a string that begins with a verb; there are"),
        ("{a: request OffsetFech}", "a: there is no API 'OffsetFech'; did you mean 'OffsetFetch'"),
        ("{a: request OffsetFetch, group: x}", "group: request has no such argument; did you mean 'groups'"),
        ("{a: request Heartbeat, generation_id: 3000000000}",
         "generation_id: should be a whole number from -2147483648 to 2147483647, not 3000000000"),
        ("{a: request Heartbeat, expect: {members: []}}", "members: the answer has no such field; there are error"),
        ("{a: request OffsetFetch, topics: [{nam: x}]}", "topics: there is no field 'nam'; did you mean 'name'?"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_actors_step_is_said(line: str, problem: str) -> None:
    """The key, what is wrong, and the nearest right word."""
    assert problem_of(line).startswith(problem)


# Powers


@pytest.mark.parametrize(
    ("line", "power", "identity", "arguments"),
    [
        ("{clock: advance 6d 23h}", "clock.advance", {}, {"ms": 601_200_000}),
        ("{clock: advance, days: 3}", "clock.advance", {}, {"days": 3}),
        ("{clock: set 2036-03-01T09:00:00Z}", "clock.set", {}, {"when": datetime(2036, 3, 1, 9, tzinfo=UTC)}),
        ("{clock: rate, rate: 60}", "clock.rate", {}, {"rate": 60}),
        ("{clock: rate 60}", "clock.rate", {}, {"rate": 60}),
        ("{clock: freeze}", "clock.freeze", {}, {}),
        ("{coordinator: move billing, to: 2}", "coordinator.move", {"group_id": "billing"}, {"to": 2}),
        ("{coordinator: move billing 2}", "coordinator.move", {"group_id": "billing"}, {"to": 2}),
        ("{coordinator: zombie billing, for: 3s}", "coordinator.zombie", {"group_id": "billing"}, {"for_s": 3.0}),
        ("{coordinator: load billing 1500ms}", "coordinator.load", {"group_id": "billing"}, {"for_s": 1.5}),
        ("{node: stop 2}", "node.stop", {"node_id": 2}, {}),
        ("{node: rack 2, rack: a}", "node.rack", {"node_id": 2}, {"rack": "a"}),
        ("{topic: produce orders, values: [x, y], key: k}", "topic.produce", {"name": "orders"},
         {"values": ["x", "y"], "key": "k"}),
        ("{topic: produce orders x}", "topic.produce", {"name": "orders"}, {"values": ["x"]}),
        ("{topic: truncate orders, offset: 1}", "topic.truncate", {"name": "orders"}, {"offset": 1}),
        ("{partition: move_leader orders-0, to: 2}",
         "topic.partition.move_leader", {"name": "orders", "index": 0}, {"to": 2}),
        ("{group: evict billing svc-1}", "group.evict", {"group_id": "billing"}, {"member": "svc-1"}),
        ("{group: evict my group, member: svc-1}", "group.evict", {"group_id": "my group"}, {"member": "svc-1"}),
        ("{group: rebalance my group, reason: a test}", "group.rebalance", {"group_id": "my group"},
         {"reason": "a test"}),
        ("{group: delete my group}", "group.delete", {"group_id": "my group"}, {}),
        ("{group: commit billing, offsets: {orders-0: 42}}", "group.commit", {"group_id": "billing"},
         {"offsets": {("orders", 0): 42}}),
        ("{broker: create_topic payments, partitions: 3}", "create_topic", {}, {"name": "payments", "partitions": 3}),
        ("{broker: add_node}", "add_node", {}, {}),
        ("{journal: clear}", "journal.clear", {}, {}),
        ("{journal: wait, requests: [{api: Heartbeat}], timeout: 5s}", "journal.wait", {},
         {"requests": [RequestPattern(api="Heartbeat")], "timeout_s": 5.0}),
        ("{fault: {api: OffsetCommit, error: NOT_COORDINATOR, times: 2, delay: 100ms}}", "fault", {},
         {"api": "OffsetCommit", "error": "NOT_COORDINATOR", "times": 2, "delay_s": 0.1}),
    ],
)  # fmt: skip
def test_words_of_the_broker_are_its_object_model(line: str, power: str, identity: object, arguments: object) -> None:
    """The verb is the method, its text the handle and the first argument, the other keys are the other arguments."""
    step = step_of(line)

    assert isinstance(step, PowerStep)
    assert (step.power, step.identity, step.arguments) == (power, identity, arguments)
    assert (step.saved_as, step.on, step.expected) == (None, None, None)


def test_what_a_power_gives_has_a_name() -> None:
    """Holds, faults and snapshots are used by their names later."""
    hold, release, fault, remove, snapshot, restore, expect = steps_of(
        "{group: hold_joins billing, until_members: 3, as: hold}",
        "{hold: release hold, order: [b, a]}",
        "{fault: {api: Heartbeat, action: disconnect}, as: cut}",
        "{fault: remove cut}",
        "{broker: snapshot, as: before}",
        "{broker: restore before}",
        "{group: explain billing, expect: {offsets: [{expired: false}]}}",
    )

    assert (hold.power, hold.saved_as) == ("group.hold_joins", "hold")  # type: ignore[attr-defined]
    assert (release.power, release.on) == ("hold.release", "hold")  # type: ignore[attr-defined]
    assert release.arguments == {"order": ["b", "a"]}  # type: ignore[attr-defined]
    assert (fault.power, fault.saved_as) == ("fault", "cut")  # type: ignore[attr-defined]
    assert (remove.power, remove.on) == ("fault.remove", "cut")  # type: ignore[attr-defined]
    assert (snapshot.power, snapshot.saved_as) == ("snapshot", "before")  # type: ignore[attr-defined]
    assert restore.arguments == {"snapshot": "$before"}  # type: ignore[attr-defined]
    assert expect.expected == {"offsets": [{"expired": False}]}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{c: join billing}", "c: no actor 'c' here; there are 'a' and 'b'"),
        ("{c: jion billing}", "c: 'c' is neither an actor nor a word of the broker; the actors are a, b; the words of"),
        ("{A: heartbeat}", "A: no actor 'A' here; did you mean 'a'?"),
        ("{clients: x}", "clients: 'clients' is neither an actor nor a word of the broker; the act"),
        ("{clok: advance 3d}", "clok: 'clok' is neither an actor nor a word of the broker; did you mean 'clock'?"),
        ("{clock: advanced 3d}", "clock: a clock has no verb 'advanced'; did you mean 'advance'?"),
        ("{clock: advance 3}", "clock: '3' is not a duration, such as 250ms, 10s, 1h 10m or 3d"),
        ("{clock: freeze 3d}", "clock: '3d' is not allowed after 'freeze'"),
        ("{clock: advance 3d, ms: 5}", "ms: ms is given twice"),
        ("{node: stop}", "node: stop of which node? (stop 2)"),
        ("{node: stop two}", "node: should be a whole number, not 'two'"),
        ("{node: stop 2 3}", "node: should be a whole number, not '2 3'"),
        ("{coordinator: move billing}", "to: is missing; move needs a whole number"),
        ("{coordinator: move billing, to: two}", "to: should be a whole number, not 'two'"),
        ("{group: delete}", "group: delete of which group? (delete billing)"),
        ("{fault: {api: Heatbeat, error: NOT_COORDINATOR}}", "api: there is no API 'Heatbeat'; did you mean 'Hea"),
        ("{fault: set x}", "fault: a fault has no verb 'set'; did you mean 'is_set'?; {api: OffsetCommit, error: NOT_"),
        ("{clock: advance}", "clock: the duration is missing (advance 3d)"),
        ("{clock: step_back}", "clock: the duration is missing (step_back 3d)"),
        ("{fault: {apy: Heartbeat}}", "apy: fault has no such argument; did you mean 'api'"),
        ("{fault: {api: Heartbeat, error: NOT_CORDINATOR}}", "error: there is no 'NOT_CORDINATOR'; did"),
        ("{fault: {api: Heartbeat, action: truncate}}", "fault: action='truncate' needs bytes"),
        ("{fault: {api: Heartbeat}}", "fault: a fault must say what happens"),
        ("{fault: {api: Heartbeat, times: 0, delay: 1s}}", "times: "),
        ("{fault: remove nothing}", "fault: no earlier step has `as: nothing` for a fault; there are none"),
        ("{hold: release hold}", "hold: no earlier step has `as: hold` for a hold; there are none"),
        ("{broker: restore before}", "broker: no earlier step has `as: before` for a snapshot; there are none"),
        ("{clock: freeze, as: x}", "as: freeze has no result to name"),
        ("{repeat: 2, steps: [{broker: snapshot, as: s}, {fault: {api: Fetch, delay: 1s}, as: s}]}",
         "as: 's' is already the name of a snapshot: use another one"),
        ("{broker: fault, api: Fetch}", "broker: a broker has no verb 'fault'; did you mean 'faults'?; {fault: {api: "),
        ("{broker: reset}", "broker: a broker has no verb 'reset'; did you mean 'restore'?"),
        ("{journal: save x}", "journal: a journal has no verb 'save'"),
        ("{partition: move_leader orders, to: 2}",
         "partition: should be a topic and a partition, such as orders-0, not 'orders'"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_power_is_said(line: str, problem: str) -> None:
    """The word, what is wrong, and the nearest right one."""
    assert problem_of(line).startswith(problem)


# Expectations, time, and steps of steps


@pytest.mark.parametrize(
    ("line", "subject", "identity", "expected", "within_ms"),
    [
        ("{expect: {group: billing, state: Stable, members: 2}}", "group", {"group_id": "billing"},
         {"state": "Stable", "members": 2}, None),
        ("{wait: {group: billing, state: Empty}, within: 3s}",
         "group", {"group_id": "billing"}, {"state": "Empty"}, 3000),
        ("{wait: {clock: null, is_frozen: false}}", "clock", {}, {"is_frozen": False}, 10_000),
        ("{expect: {topic: orders, partitions: {at_least: 1}}}", "topic", {"name": "orders"},
         {"partitions": {"at_least": 1}}, None),
        ("{expect: {partition: orders-0, leader: 1}}",
         "partition", {"name": "orders", "index": 0}, {"leader": 1}, None),
        ("{expect: {node: 1, is_alive: true}}", "node", {"node_id": 1}, {"is_alive": True}, None),
        ("{expect: {coordinator: billing, node_id: 1}}", "coordinator", {"group_id": "billing"}, {"node_id": 1}, None),
        ("{expect: {actor: a, assignment: {orders: [0]}}}",
         "actor", {"name": "a"}, {"assignment": {"orders": [0]}}, None),
        ("{expect: {records: orders, count: 2}}", "records", {"name": "orders"}, {"count": 2}, None),
        ("{expect: {records: orders-1, values: [x]}}",
         "records", {"name": "orders", "index": 1}, {"values": ["x"]}, None),
        ("{expect: {committed: billing, orders-0: 42}}", "committed", {"group_id": "billing"}, {"orders-0": 42}, None),
        ("{expect: {journal: [{api: JoinGroup, error: NONE}, {api: Heartbeat, never: true}]}}", "journal", {},
         {"requests": [{"api": "JoinGroup", "error": "NONE"}, {"api": "Heartbeat", "never": True}]}, None),
    ],
)  # fmt: skip
def test_expectations_name_their_subject(
    line: str, subject: str, identity: object, expected: object, within_ms: int | None
) -> None:
    """One key says what is meant, the others are its properties."""
    step = step_of(line)

    assert isinstance(step, Expect)
    assert (step.subject, step.identity, step.expected, step.within_ms) == (subject, identity, expected, within_ms)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{expect: {gruop: billing, state: Stable}}", "expect: the subject is missing; did you mean 'group'?"),
        ("{expect: {group: billing, stat: Stable}}", "stat: group has no such property; did you mean 'state'?"),
        ("{expect: {group: billing}}", "expect: nothing is expected of the group; there are"),
        ("{expect: billing}", "expect: should be a mapping: {group: billing, state: Stable}, not 'billing'"),
        ("{expect: {actor: c, member_id: x}}", "expect: no actor 'c' here; there are 'a' and 'b'"),
        ("{expect: {fault: f, hits: 1}}", "expect: no earlier step has `as: f` for a fault; there are none"),
        ("{expect: {journal: {api: JoinGroup}}}",
         "expect: should be a list of requests: [{api: JoinGroup, error: NONE}]"),
        ("{expect: {journal: [{aip: JoinGroup}]}}", "aip: a request has no such field; did you mean 'api'?"),
        ("{expect: {journal: [{api: JoinGrop}]}}", "api: "),
        ("{expect: {journal: [{error: NOPE}]}}", "error: "),
        ("{expect: {group: billing, state: Stabel}}", "state: there is no 'Stabel'; did you mean 'Stable'?"),
        ("{expect: {node: x, state: running}}", "expect: should be a whole number, not 'x'"),
        ("{wait: {group: b, state: Empty}, whitin: 3s}",
         "whitin: a step with wait has no such key; did you mean 'within'"),
        ("{wait: {group: b, state: Empty}, within: 3}", "within: should be a duration"),
        ("{pass: 10}", "pass: should be a duration, or a range of them (3s..5s), not 10"),
        ("{pass: 5s..3s}", "pass: '5s..3s' runs from more to less"),
        ("{repeat: 3}", "repeat: the list of steps is missing (repeat: 3, steps: [...])"),
        ("{repeat: 0, steps: []}", "repeat: should be a whole number from 1 to 10000, not 0"),
        ("{repeat: 10000, steps: [{repeat: 11, steps: []}]}",
         "repeat: with those around it, this repeats more than 100000"),
        ("{any_order: {a: heartbeat}}", "any_order: should be a list of steps, not a mapping"),
        ("heartbeat", "should be a step, not 'heartbeat'; a step is a mapping: {clock: advance 3d}"),
        ("{}", "the step is empty; the actors are a, b; the words"),
        ("{note: x}", "note: beside note the step needs an actor or a word of the broker"),
        ("{expect: {journal: []}}", "expect: nothing is expected of the journal: [{api: JoinGroup, error: NONE}]"),
        ("{note: 3, pass: 1s}", "note: should be a text, not 3"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_other_steps_is_said(line: str, problem: str) -> None:
    """The key, what is wrong, and what would be right."""
    assert problem_of(line).startswith(problem)


def test_time_passes_for_a_time_or_in_a_range() -> None:
    """Without a seed a range is its least."""
    assert [
        (step.min_ms, step.max_ms) for step in steps_of("{pass: 10s}", "{pass: 3s..5s}") if isinstance(step, Pass)
    ] == [
        (10_000, 10_000),
        (3000, 5000),
    ]


def test_steps_of_steps() -> None:
    """Lists in any order and repeated lists have steps of their own, with their own lines."""
    text = "any_order:\n      - {a: heartbeat}\n      - {b: heartbeat}"
    any_order, repeat = steps_of(text, "{repeat: 3, steps: [{a: heartbeat}, {pass: 1s}]}")

    assert isinstance(any_order, AnyOrder)
    assert [step.place.line for step in any_order.steps] == [FIRST_LINE + 1, FIRST_LINE + 2]
    assert isinstance(repeat, Repeat)
    assert (repeat.times, [type(step) for step in repeat.steps]) == (3, [ClientStep, Pass])


def test_names_must_be_saved_before_they_are_used() -> None:
    """The order is that of the timeline, through lists of steps as well."""
    steps_of(
        "{a: join billing, save: {id: member_id}}", "{repeat: 2, steps: [{a: join $id}]}", "{b: join $a.member_id}"
    )
    problems = problems_of(with_steps("{a: join $id}", "{a: join billing, save: {id: member_id}}"))

    assert problems == [f"f.yaml:{FIRST_LINE}: a: no earlier step saves 'id'; there are a, b"]


def test_the_first_key_that_is_a_word_says_what_the_step_is() -> None:
    """Arguments may have the names of words, and a remark may stand before."""
    step = step_of("{note: ' A remark. ', journal: requests, group: billing, node: 1}")

    assert (step.power, step.arguments, step.note) == ("journal.requests", {"group": "billing", "node": 1}, "A remark.")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("{note: x, a: join billing, topics: [orders], expect: {error: NONE}, save: {x: error}, later: true}",
         "a: join billing, topics: [orders], later: true"),
        ("{a: commit, offsets: {orders-0: 42}, metadata: 'a, b'}",
         'a: commit, offsets: {orders-0: 42}, metadata: "a, b"'),
        ("{expect: {group: billing, state: Stable}}", "expect: {group: billing, state: Stable}"),
        ("{fault: {api: Heartbeat, version: '3', delay: 1s}, as: x}",
         'fault: {api: Heartbeat, version: "3", delay: 1s}, as: x'),
        ("{any_order: []}", "any_order"),
        ("{repeat: 3, steps: []}", "repeat: 3"),
        ('{a: "join x\\ny"}', 'a: "join x\\ny"'),
        ("{a: committed billing, partitions: null}", "a: committed billing, partitions: null"),
        ('{a: join billing, protocols: ["x\\n\\t", "4", "\\u200b"]}',
         'a: join billing, protocols: ["x\\n\\t", "4", "\\u200b"]'),
    ],
)  # fmt: skip
def test_a_step_is_shown_in_one_line(line: str, text: str) -> None:
    """As it would stand in a file, without what is expected, saved and remarked."""
    assert step_of(line).text == text
