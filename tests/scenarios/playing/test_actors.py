"""Actors: their verbs, raw requests, what answers look like, and connections that are lost."""

import inspect
from typing import Any

import pytest

from fakebroker.client.scripted.scripted_client import ScriptedClients
from fakebroker.scenarios.happenings import Received, Sent
from fakebroker.scenarios.language.actor_verbs import ActorVerbs
from fakebroker.scenarios.language.kinds import ACTOR_PROPERTIES
from fakebroker.scenarios.playing.actors import OWN_VERBS, ActorClient
from fakebroker.scenarios.playing.happening_log import HappeningLog
from fakebroker.scenarios.playing.member_loop import Options
from fakebroker.scenarios.playing.worlds import VirtualWorld
from tests.support.scenarios import Steps, actor, play, scenario


@pytest.fixture
def s() -> Steps:
    """Makes the steps of one timeline."""
    return Steps()


def test_what_can_be_expected_of_an_actor_is_there() -> None:
    """The language and the player know the same properties of actors."""
    world = VirtualWorld(scenario([]))
    shown = ActorClient(actor("a"), world, ScriptedClients(world.driver), HappeningLog(world).watch("a")).shown()

    assert sorted(shown) == sorted(ACTOR_PROPERTIES)


def test_consume_has_the_options_of_a_member() -> None:
    """The signature that the language reads, and the options that the player takes, are the same."""
    parameters = list(inspect.signature(ActorVerbs.consume).parameters.values())[1:]

    assert [each.name for each in parameters] == list(Options._fields)
    assert {each.name: each.default for each in parameters if each.default is not each.empty} == Options._field_defaults
    assert {"consume", "pause", "resume", "stop", "connect", "disconnect"} == OWN_VERBS


def test_raw_requests_of_any_version(s: Steps) -> None:
    """Fields have our names or Kafka's; bytes are written as what they are; old versions are answered as such."""
    member = {"name": "range", "metadata": {"subscription": ["orders"]}}
    played = play(
        s.do("a", "request", {"error": "NONE", "topics": []}, api_name="OffsetFetch", version=7, group_id="g",
             topics=None),
        s.do("a", "request", {"error": "NONE"}, api_name="OffsetFetch", version=1, group_id="g", Topics=[
            {"Name": "orders", "PartitionIndexes": [0]}]),
        s.do("a", "request", {"error": "NONE", "members": [{"metadata": {"topics": ["orders"]}}]}, api_name="JoinGroup",
             version=1, group_id="billing", session_timeout_ms=10_000, rebalance_timeout_ms=10_000, member_id="",
             protocol_type="consumer", protocols=[member], save={"me": "member_id", "generation": "generation_id"}),
        s.do("a", "request", {"assignment": {"orders": [1]}}, api_name="SyncGroup", version=1, group_id="billing",
             generation_id="$generation", member_id="$me",
             assignments=[{"member_id": "$me", "assignment": {"assignment": {"orders": [1]}}}]),
        s.do("a", "request", {"error": "NONE"}, api_name="Produce", version=9, acks=-1, timeout_ms=1000, topic_data=[
            {"name": "orders", "partition_data": [{"index": 0, "records": [{"key": "k", "value": "v"}]}]}]),
        s.do("a", "fetch", {"error": "NONE", "records": [{"offset": 0, "key": "k", "value": "v", "headers": {}}]},
             topic="orders", partition=0, offset=0),
    )  # fmt: skip

    assert played.problems == []
    versions = [(each.api, each.version) for each in played.happenings if isinstance(each, Sent)]
    assert versions[:4] == [("OffsetFetch", 7), ("OffsetFetch", 1), ("JoinGroup", 1), ("SyncGroup", 1)]


def test_a_raw_frame(s: Steps) -> None:
    """A whole request in hexadecimal is sent as it is; its answer is read as one of the version that is said."""
    frame = "0012 0000 0000 002a 0001 61"  # ApiVersions v0, correlation id 42, client "a"
    played = play(s.do("a", "request", {"error": "NONE"}, api_name="ApiVersions", version=0, hex=frame))

    assert played.problems == []
    assert [each.request for each in played.happenings if isinstance(each, Sent)] == [None]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"api_name": "Heartbeet"}, "there is no API 'Heartbeet'"),
        ({"api_name": "Heartbeat", "group": "g"}, "has no such field"),
        ({"api_name": "Heartbeat", "version": 99, "group_id": "g"}, "99"),
        ({"api_name": "ApiVersions", "hex": "xy"}, "not hexadecimal"),
        ({"api_name": "OffsetFetch", "topics": "orders"}, "topics: should be a list, not 'orders'"),
        (
            {"api_name": "OffsetFetch", "topics": [3]},
            "topics[0]: should be a mapping of the fields of OffsetFetchRequestTopic, not 3",
        ),
        ({"api_name": "SyncGroup", "group_id": 7}, ""),
    ],
)
def test_a_request_that_cannot_be_sent_is_a_problem(s: Steps, arguments: dict[str, Any], said: str) -> None:
    """It is a problem of its step, and nothing waits."""
    played = play(s.do("a", "request", **arguments))

    assert len(played.problems) == 1
    assert played.problems[0].startswith("made.yaml:1: a: request: ")
    assert said in played.problems[0]


def test_a_fetch_that_fails_shows_its_error(s: Steps) -> None:
    """The answer is looked at also where the step of the scripted client raises."""
    played = play(
        s.do("a", "fetch", {"error": "OFFSET_OUT_OF_RANGE", "records": []}, topic="orders", partition=0, offset=9)
    )

    assert played.problems == []


def test_a_produce_has_the_broker_s_time(s: Steps) -> None:
    """As a producer's clock would have it; a time that is given is kept."""
    played = play(
        s.do("a", "produce", topic="orders", partition=0, records=["x"]),
        s.power("clock.advance", days=1),
        s.do("a", "produce", topic="orders", partition=0, records=["y"], timestamp_ms=5),
        s.do("a", "produce", topic="orders", partition=0, records=[{"value": "z"}], acks=0),
        s.expect("records", {"name": "orders", "index": 0}, {
            "count": 3, "values": ["x", "y", "z"], "timestamps": [1_767_225_600_000, 5, 1_767_312_000_000]}),
    )  # fmt: skip

    assert played.problems == []


def test_a_connection_that_is_lost_as_expected(s: Steps) -> None:
    """The step sees it with the reason, the actor connects again and is the member that it was."""
    played = play(
        s.join("a"),
        s.sync("a", {"a": {"orders": [0, 1]}}),
        s.power("fault", api="Heartbeat", action="disconnect", times=1, saved_as="cut"),
        s.do("a", "heartbeat", {"closed": True, "why": {"contains": "closed by the broker"}}),
        s.expect("fault", {"name": "cut"}, {"hits": 1}),
        s.expect("actor", {"name": "a"}, {"is_connected": False, "closed_reason": {"contains": "fault"}}),
        s.do("a", "connect"),
        s.do("a", "heartbeat", {"error": "NONE", "closed": False}),
    )

    assert played.problems == []


def test_a_connection_that_is_lost_unexpectedly_ends_the_timeline(s: Steps) -> None:
    """It is a problem that says why, and the steps after it are not taken."""
    played = play(
        s.join("a"),
        s.power("node.kill", {"node_id": 1}),
        s.do("a", "heartbeat", {"error": "NONE"}),
        s.do("a", "heartbeat", {"error": "NONE"}),
    )

    (problem,) = played.problems
    assert problem.startswith(
        "made.yaml:3: a: heartbeat: expected {error: NONE}, but saw the connection lost: Heartbeat v4"
    )
    assert "node 1 was killed" in problem
    (lost,) = [each for each in played.happenings if isinstance(each, Received) and each.why is not None]
    assert lost.response is None


def test_an_answer_that_is_dropped(s: Steps) -> None:
    """The request waits in silence; what it did is done."""
    played = play(
        s.power("fault", api="OffsetCommit", action="drop-answer", after="applied", times=1),
        s.do("a", "commit", offsets={"orders-0": 4}, group_id="billing", later=True),
        s.silent("a", 60_000),
        s.group(offsets={"orders-0": 4}),
    )

    assert played.problems == []


def test_actors_on_several_nodes(s: Steps) -> None:
    """An actor connects to its node, and to another when a step says so."""
    played = play(
        s.power("coordinator.move", {"group_id": "billing"}, to=2),
        s.join("a", {"error": "NOT_COORDINATOR"}),
        s.join("b", {"error": "NONE"}),
        s.do("a", "connect", node=2),
        s.do("a", "describe_group", {"groups": [{"group_state": "CompletingRebalance"}]}, group_id="billing"),
        s.do("a", "find_coordinator", {"coordinators": [{"node_id": 2}]}, key="billing"),
        s.power("node.stop", {"node_id": 3}),
        s.do("c", "connect", node=3),
        nodes=3,
        actors={"a": actor("a", node=1), "b": actor("b", node=2), "c": actor("c")},
    )

    (problem,) = played.problems
    assert problem.startswith("made.yaml:8: c: connect: ")
    assert "ConnectionRefused" in problem
