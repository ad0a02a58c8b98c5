"""The player: steps in virtual time, what they expect, what happens, and what goes wrong."""

from collections.abc import Callable

import pytest

from fakebroker.scenarios.happenings import BrokerEvent, Failed, Gave, Received, Sent, StepBegan
from fakebroker.scenarios.script import Step
from tests.support.scenarios import Steps, actor, play

DAY_MS = 86_400_000


@pytest.fixture
def s() -> Steps:
    """Makes the steps of one timeline."""
    return Steps()


def test_two_members_meet(s: Steps) -> None:
    """The story of the language's page: a parked join, silence, a heartbeat that tells of it, both get partitions."""
    played = play(
        s.join("a", {"error": "NONE"}, save={"first": "member_id"}),
        s.sync("a", {"a": {"orders": [0, 1]}}, {"assignment": {"orders": [0, 1]}}),
        s.join("b", later=True),
        s.silent("b", 100),
        s.do("a", "heartbeat", {"error": "REBALANCE_IN_PROGRESS"}),
        s.do("a", "rejoin", {"member_id": "$first", "generation_id": 2, "members": 2}),
        s.answered("b", {"error": "NONE", "leader": "$first"}),
        s.sync("b", later=True),
        s.sync("a", {"a": {"orders": [0]}, "b": {"orders": [1]}}),
        s.answered("b", {"assignment": {"orders": [1]}}),
        s.do("a", "commit", {"error": "NONE"}, offsets={"orders-0": 42}),
        s.group(state="Stable", members=2, offsets={"orders-0": 42}, generation={"at_least": 2}),
        s.expect("actor", {"actor": "b"}, {"assignment": {"orders": [1]}, "is_leader": False}),
    )

    assert played.problems == []


def test_days_pass_and_offsets_expire(s: Steps) -> None:
    """The time of day moves in no time, and what is due has happened."""
    played = play(
        s.do("a", "commit", {"error": "NONE"}, offsets={"orders-0": 42}, group_id="billing"),
        s.power("clock.advance", days=3),
        s.group(offsets={"orders-0": 42}),
        s.power("clock.advance", days=5),
        s.group(offsets={}),
        config={"offsets.retention.minutes": 7 * 24 * 60},
    )

    assert played.problems == []
    assert [each.at_ms for each in played.happenings if isinstance(each, StepBegan)][-1] == 8 * DAY_MS


def test_what_happens_is_reported_in_order(s: Steps) -> None:
    """A step, its request, what the broker did, the answer."""
    played = play(s.join("a"))
    kinds = [type(each) for each in played.happenings]

    assert kinds[0] is StepBegan
    assert kinds.count(Sent) == kinds.count(Received) == 2  # the first is answered MEMBER_ID_REQUIRED
    assert BrokerEvent in kinds
    sent = [each for each in played.happenings if isinstance(each, Sent)]
    received = [each for each in played.happenings if isinstance(each, Received)]
    assert [(each.number, each.api) for each in sent] == [(1, "JoinGroup"), (2, "JoinGroup")]
    assert [each.response["ErrorCode" if "ErrorCode" in each.response else "errorCode"] for each in received] == [79, 0]


def test_powers_with_names(s: Steps) -> None:
    """A hold and a snapshot are used by the names that `as` gave them; results of powers are shown and can be saved."""
    played = play(
        s.power("topic.produce", {"name": "orders"}, values=["x", "y"], partition=1),
        s.power("topic.produce", {"name": "orders"}, values=["z"], partition=1, saved_as="third", expect=2),
        s.power("snapshot", saved_as="before"),
        s.power("group.hold_joins", {"group_id": "billing"}, saved_as="hold"),
        s.join("a", later=True),
        s.silent("a", 5000),
        s.expect("hold", {"name": "hold"}, {"is_active": True, "waiting": 1}),
        s.power("hold.release", on="hold", leader="a"),
        s.answered("a", {"error": "NONE"}),
        s.do("b", "fetch", {"records": [{"value": "z"}]}, topic="orders", partition=1, offset="$third"),
        s.power("group.commit", {"group_id": "other"}, offsets={"orders-1": "$third"}),
        s.expect("committed", {"group_id": "other"}, {"orders-1": 2, "orders-0": None}),
        s.expect("committed", {"group_id": "other"}, {"orders-1": {"offset": 2, "metadata": ""}}),
        s.power("restore", snapshot="$before"),
        s.expect("group", {"group_id": "other"}, {"exists": False}),
        s.expect("records", {"name": "orders", "index": 1}, {"count": 3}),
    )

    assert played.problems == []
    assert [each.value for each in played.happenings if isinstance(each, Gave)] == [0]


def test_every_subject_shows_what_it_has(s: Steps) -> None:
    """Handles by their properties; questions without arguments are properties, too."""
    played = play(
        s.do("a", "commit", offsets={"orders-0": 1}, group_id="billing"),
        s.power("fault", api="Heartbeat", error="NOT_COORDINATOR", saved_as="refused"),
        s.expect("topic", {"name": "orders"}, {"exists": True, "partitions": 2, "end_offsets": {"0": 0}}),
        s.expect("partition", {"name": "orders", "index": 1}, {"leader": 1, "high_watermark": 0}),
        s.expect("coordinator", {"group_id": "billing"}, {"node_id": 1}),
        s.expect("node", {"node_id": 1}, {"state": "running", "is_alive": True}),
        s.expect("fault", {"name": "refused"}, {"hits": 0, "is_set": True}),
        s.expect("clock", {}, {"now": "2026-01-01T00:00:00Z", "rate": 1.0, "is_frozen": False}),
        s.group(explain={"group_id": "billing"}, state="Empty"),
        s.expect("journal", {}, {"requests": [{"api": "OffsetCommit", "error": "NONE", "client_id": "a"}]}),
        s.power("clock.rate", rate=2.0),
        s.expect("clock", {}, {"rate": 2}),
    )

    assert played.problems == []


def test_waiting_lets_time_pass_until_it_is_so(s: Steps) -> None:
    """A wait ends as soon as it can, for powers of the broker as for expectations; members go on meanwhile."""
    played = play(
        s.do("a", "consume", group_id="billing", topics=["orders"], session_timeout_ms=10_000),
        s.group(within_ms=5000, state="Stable"),
        s.do("a", "pause"),
        s.group(within_ms=60_000, state="Empty"),
        s.do("a", "resume"),
        s.power("group.wait", {"group_id": "billing"}, state="Stable", timeout_s=60),
        s.group(members=1),
    )

    assert played.problems == []
    assert 10_000 <= played.virtual_ms <= 20_000


def test_repeats_and_any_order(s: Steps) -> None:
    """Steps inside are steps; without a seed their order is as written."""
    played = play(
        s.join("a"),
        s.sync("a"),
        s.repeat(3, s.do("a", "heartbeat", {"error": "NONE"}), s.passes(1000, 9000)),
        s.any_order(s.do("a", "heartbeat"), s.do("b", "list_groups", {"groups": 1})),
    )

    assert played.problems == []
    assert sum(isinstance(each, Sent) and each.api == "Heartbeat" for each in played.happenings) == 4
    assert played.virtual_ms == 3000
    assert isinstance(played.happenings[-1], Received)
    assert played.happenings[-1].api == "ListGroups"


def test_a_power_that_is_refused_as_expected(s: Steps) -> None:
    """Kafka's errors of a power can be expected; others are problems."""
    played = play(
        s.power("group.delete", {"group_id": "billing"}, expect={"error": "GROUP_ID_NOT_FOUND"}),
        s.power("group.delete", {"group_id": "billing"}, expect={"error": "NONE"}),
        s.power("group.delete", {"group_id": "billing"}),
        s.do("a", "list_groups"),
    )

    assert [each.split(": ", 1)[0] for each in played.problems] == ["made.yaml:2", "made.yaml:3"]
    assert "error: expected NONE, but saw GROUP_ID_NOT_FOUND" in played.problems[0]
    assert "GROUP_ID_NOT_FOUND" in played.problems[1]
    assert not any(isinstance(each, Sent) for each in played.happenings)


def failing(make: "Callable[[Steps], list[Step]]") -> list[str]:
    """The problems of a timeline."""
    return play(*make(Steps())).problems


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda s: [s.join("a", {"generation_id": 7})], "1: a: join: generation_id: expected 7, but saw 1"),
        (
            lambda s: [s.join("a", save={"x": "nothing"})],
            "1: a: join: save x: expected the answer to have nothing, but saw that",
        ),
        (lambda s: [s.group(members=1)], "1: expect group: members: expected 1, but saw none"),
        (
            lambda s: [s.group(state="Stable", within_ms=9)],
            "1: expect group: state: expected Stable, but saw Dead after 9 ms",
        ),
        (
            lambda s: [s.group(stat="Stable")],
            "1: expect group: stat: <group billing> has no such property; did you mean 'state'",
        ),
        (
            lambda s: [s.group(commit=1)],
            "1: expect group: 'commit' of <group billing> is an action, which cannot be expected",
        ),
        (
            lambda s: [s.expect("actor", {"name": "z"}, {"node": 1})],
            "1: expect actor: no actor 'z' here; there are 'a', 'b' and 'c'",
        ),
        (
            lambda s: [s.expect("actor", {"name": "a"}, {"nod": 1})],
            "1: expect actor: nod: an actor has no such property; did you mean 'node'",
        ),
        (lambda s: [s.expect("fault", {"name": "f"}, {"hits": 1})], "1: expect fault: fault: no step has defined 'f'"),
        (
            lambda s: [s.expect("moon", {"name": "f"}, {"hits": 1})],
            "1: expect moon: virtual time cannot be asked about a moon",
        ),
        (
            lambda s: [s.expect("journal", {}, {"requests": [{"api": "JoinGroup"}]})],
            "1: expect journal: journal: expected JoinGroup (nothing before it), but saw []",
        ),
        (
            lambda s: [
                s.do("a", "list_groups"),
                s.expect("journal", {}, {"requests": [{"api": "ListGroups", "is_never": True}]}),
            ],
            "2: expect journal: journal: expected never ListGroups, but saw #",
        ),
        (
            lambda s: [s.silent("a", 5)],
            "1: a: silent: expected a to wait for an answer, but saw no pending step",
        ),
        (lambda s: [s.answered("a")], "1: a: answered: a has no pending step"),
        (
            lambda s: [s.join("a"), s.join("b", later=True), s.answered("b", within_ms=9)],
            "3: b: answered: b: expected an answer to join, but saw none within 9 ms",
        ),
        (
            lambda s: [s.join("a"), s.join("b")],
            "2: b: join: b: expected an answer to join, but saw none within 30000 ms; with `later: true` the timeline",
        ),
        (lambda s: [s.join("a", later=True), s.silent("a", 5)], "2: a: silent: expected a to wait"),
        (
            lambda s: [s.join("a"), s.join("b", {"error": "NONE"}, later=True)],
            "2: b: join: expected {error: NONE}, but saw no answer until the end",
        ),
        (
            lambda s: [s.join("a", {"error": "UNKNOWN_MEMBER_ID"}, later=True)],
            "1: a: join: error: expected UNKNOWN_MEMBER_ID, but saw NONE",
        ),
        (lambda s: [s.sync("a")], "1: a: sync: this client has joined no group"),
        (
            lambda s: [s.join("a"), s.sync("a", {"b": {"orders": [0]}})],
            "2: a: sync: assignments: b has no member id yet",
        ),
        (lambda s: [s.do("a", "hartbeat")], "1: a: hartbeat: there is no verb 'hartbeat'; did you mean 'heartbeat'"),
        (lambda s: [s.do("z", "heartbeat")], "1: z: heartbeat: no actor 'z' here; there are 'a', 'b' and 'c'"),
        (
            lambda s: [s.do("a", "fetch", topic="orders")],
            "1: a: fetch: fetch: missing a required argument: 'partition'",
        ),
        (
            lambda s: [s.do("a", "commit", offsets="x")],
            "1: a: commit: offsets: should be a mapping by topic and partition, each value a whole number, not 'x'",
        ),
        (lambda s: [s.do("a", "delete_group", group_id="$x")], "1: a: delete_group: $x: no step has saved 'x'"),
        (lambda s: [s.do("a", "pause")], "1: a: pause: a is not consuming"),
        (lambda s: [s.do("a", "consume", group_id="g")], "1: a: consume: consume: "),
        (
            lambda s: [s.do("a", "consume", group_id="g", topics=["orders"], protocols=["sticky"])],
            "1: a: consume: protocols: there is no assignor 'sticky'",
        ),
        (lambda s: [s.power("group.mov", {"group_id": "g"})], "1: group.mov: group.mov: there is no 'mov'"),
        (lambda s: [s.power("coordinator.move", {"group_id": "g"}, too=1)], "1: coordinator.move: "),
        (
            lambda s: [s.power("hold.release", on="hold")],
            "1: hold.release: no step has defined 'hold'; there are none",
        ),
        (lambda s: [s.power("node.stop", {"node_id": 9})], "1: node.stop: there is no node 9, only 1"),
        (
            lambda s: [s.power("topic.produce", {"name": "orders"}, values=["x"], expect=5)],
            "1: topic.produce: it: expected 5, but saw 0",
        ),
    ],
)
def test_what_fails_says_where_and_what(make: "Callable[[Steps], list[Step]]", problem: str) -> None:
    """Each failure is one sentence: file and line, the step, what was expected, what was seen."""
    (found,) = failing(make)

    assert found.startswith(f"made.yaml:{problem}")


def test_a_step_after_a_lost_connection_says_how_to_get_another(s: Steps) -> None:
    """The fault hits once; the next request of the client fails because nothing connected it again."""
    played = play(
        s.power("fault", api="Heartbeat", action="disconnect", times=1),
        s.do("a", "request", {"closed": True}, api_name="Heartbeat"),
        s.do("a", "request", {"error": "NONE"}, api_name="Heartbeat"),
    )

    (problem,) = played.problems
    assert "fault" in problem
    assert problem.endswith("; it was lost before this step: {a: connect} opens another one")


def test_a_play_in_which_too_much_happens_is_ended(s: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    """Virtual time can last for years, which nobody waits for."""
    monkeypatch.setattr("fakebroker.scenarios.playing.player.MAX_HAPPENINGS", 1000)
    consume = s.do("a", "consume", group_id="billing", topics=["orders"], poll_interval_ms=10)
    played = play(consume, s.passes(365 * DAY_MS), s.group(members=7))

    (problem,) = played.problems
    assert "more than 1000 requests, answers and events" in problem
    assert "clock: advance" in problem
    assert len(played.happenings) < 1100


def test_unmet_expectations_are_collected(s: Steps) -> None:
    """The timeline goes on after an expectation that is not met; it ends with a step that could not be taken."""
    played = play(
        s.group(state="Stable"),
        s.join("a", {"error": "X"}),
        s.sync("b"),
        s.group(state="Stable"),
    )

    assert [each.split(": ", 1)[0] for each in played.problems] == [f"made.yaml:{line}" for line in (1, 2, 3)]
    assert [each.step.place.line for each in played.happenings if isinstance(each, Failed)] == [1, 2, 3]
    assert not played.is_good


def test_a_topic_that_cannot_be_made_is_a_problem(s: Steps) -> None:
    """What goes wrong before the timeline is reported, too."""
    played = play(s.do("a", "list_groups"), topics={"orders": {"partitions": -5}})

    assert len(played.problems) == 1
    assert played.problems[0].startswith("made.yaml: ")


def test_members_are_named_by_their_actors(s: Steps) -> None:
    """In a hold's order and leader, whatever the clients are called."""
    actors = {"first": actor("first", client_id="svc"), "second": actor("second", client_id="svc")}
    played = play(
        s.power("group.hold_joins", {"group_id": "billing"}, saved_as="hold"),
        s.join("first", later=True),
        s.join("second", later=True),
        s.power("hold.release", on="hold", leader="second", order=["second", "first"]),
        s.answered("second", {"members": 2, "leader": "$second.member_id"}),
        s.answered("first", {"members": 0, "leader": "$second.member_id"}),
        s.power("group.evict", {"group_id": "billing"}, member="first"),
        s.do("first", "heartbeat", {"error": "UNKNOWN_MEMBER_ID"}),
        actors=actors,
    )

    assert played.problems == []


def test_what_becomes_of_later_steps(s: Steps) -> None:
    """A connection that was lost meanwhile is reported where the answer is asked for, or at the end."""
    played = play(
        s.join("a"),
        s.join("b", {"error": "NONE"}, later=True),
        s.join("c", later=True),
        s.do("b", "disconnect"),
        s.do("c", "disconnect"),
        s.do("a", "heartbeat", {"error": "REBALANCE_IN_PROGRESS"}),
    )

    (problem,) = played.problems
    assert problem.startswith("made.yaml:2: b: join: expected {error: NONE}, but saw the connection lost: JoinGroup")


def test_a_later_step_that_cannot_be_taken_is_reported_at_once(s: Steps) -> None:
    """What is wrong with the step itself does not wait for its answer."""
    played = play(s.do("a", "heartbeat", later=True), s.do("b", "list_groups"))

    assert played.problems == ["made.yaml:1: a: heartbeat: this client has joined no group"]


def test_a_reset_ends_connections_and_the_play_goes_on(s: Steps) -> None:
    """A broker as new: actors connect again, the events after it are reported."""
    played = play(
        s.join("a"),
        s.power("reset"),
        s.do("a", "connect"),
        s.power("create_topic", {"name": "orders"}, partitions=1),
        s.do("a", "rejoin", {"error": "UNKNOWN_MEMBER_ID"}),
        s.join("a", {"error": "NONE", "generation_id": 1}),
    )

    assert played.problems == []
    assert isinstance(played.happenings[-1], Received)
    assert isinstance(played.happenings[-2], BrokerEvent)
