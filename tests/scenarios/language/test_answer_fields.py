"""The fields of answers, by verb."""

from typing import Any

import pytest

from fakebroker.client.streams_group_steps import Subtopology
from fakebroker.scenarios.happenings import Sent
from fakebroker.scenarios.language.answer_fields import ANSWERED_BY, answer_fields, answer_form, version_problem
from fakebroker.scenarios.language.declaration import SPECIAL_VERBS, WITHOUT_ANSWER, actor_verbs
from tests.support.scenarios import Steps, play

TOPOLOGY = Subtopology("0", ["orders"])
ARGUMENTS: dict[str, dict[str, Any]] = {
    "login": {"user": "alice", "password": "secret"},
    "create_topic": {"topic": "new"},
    "create_partitions": {"topic": "orders", "count": 3},
    "delete_records": {"topic": "orders", "partition": 0, "offset": 0},
    "find_coordinator": {"key": "g"},
    "delete_offsets": {"group_id": "g", "partitions": [("orders", 0)]},
    "describe_configs": {"name": "orders"},
    "alter_configs": {"name": "orders", "config": {}},
    "produce": {"topic": "orders", "partition": 0, "records": ["x"]},
    "fetch": {"topic": "orders", "partition": 0, "offset": 0},
    "list_offsets": {"topic": "orders", "partition": 0},
    "offset_for_leader_epoch": {"topic": "orders", "partition": 0, "leader_epoch": 0},
    "add_partitions_to_txn": {"partitions": [("orders", 0)]},
    "txn_offset_commit": {"offsets": {"orders-0": 1}, "group_id": "g"},
    "commit": {"offsets": {"orders-0": 1}, "group_id": "g"},
    "describe_topic": {"topic": "orders"},
    "delete_topic": {"topic": "orders"},
    **{verb: {"group_id": "g"} for verb in ("describe_group", "delete_group", "committed")},
    "add_offsets_to_txn": {"group_id": "g"},
    "join_consumer_group": {"group_id": "g"},
    "join_share_group": {"group_id": "g", "topics": ["orders"]},
    "join_streams_group": {"group_id": "g", "topology": [TOPOLOGY]},
    "share_fetch": {"group_id": "g", "partitions": ["orders-0"]},
    "share_acknowledge": {"topic": "orders", "partition": 0},
    **{verb: {"group_id": "g"} for verb in ("describe_consumer_group", "describe_share_group")},
    **{verb: {"group_id": "g"} for verb in ("describe_streams_group", "share_group_offsets")},
    "alter_share_group_offsets": {"group_id": "g", "offsets": {"orders-0": 1}},
    "delete_share_group_offsets": {"group_id": "g", "topics": ["orders"]},
}
# What comes before a step of a member, or of a share session.
BEFORE = {
    **dict.fromkeys(("consumer_group_heartbeat", "reconcile", "leave_consumer_group"), "join_consumer_group"),
    **dict.fromkeys(("share_group_heartbeat", "leave_share_group"), "join_share_group"),
    **dict.fromkeys(("share_acknowledge", "close_share_session"), "share_fetch"),
    **dict.fromkeys(("streams_group_heartbeat", "reconcile_tasks", "leave_streams_group"), "join_streams_group"),
}


@pytest.mark.parametrize("verb", ANSWERED_BY)
def test_a_verb_gives_the_answer_of_its_api(verb: str) -> None:
    """The last request that it sends is of the API that the table has."""
    s = Steps()
    of_member = verb in ("rejoin", "sync", "heartbeat", "leave")
    of_producer = verb.endswith(("_txn", "_transaction")) or verb == "txn_offset_commit"
    before = [s.join("a")] if of_member or verb == "join" else []
    if of_producer:
        before = [s.do("a", "find_coordinator", key="tx-1", key_type="transaction")]
        before += [s.do("a", "init_producer_id", transactional_id="tx-1", transaction_protocol=1)]
    if verb in BEFORE:
        before = [s.do("a", BEFORE[verb], **ARGUMENTS[BEFORE[verb]])]
    users = {"alice": "secret"} if verb == "login" else {}
    played = play(*before, *([] if verb == "join" else [s.do("a", verb, **ARGUMENTS.get(verb, {}))]), users=users)

    assert played.problems == []
    assert [each.api for each in played.happenings if isinstance(each, Sent)][-1] == ANSWERED_BY[verb]


def test_every_verb_with_an_answer_is_there() -> None:
    """What is not has no answer, or that of an API which the step names."""
    assert ANSWERED_BY.keys() == actor_verbs().keys() - set(WITHOUT_ANSWER) - set(SPECIAL_VERBS)


def test_an_answer_has_its_fields_and_how_it_came() -> None:
    """Records are read of a Fetch alone."""
    assert answer_fields("Heartbeat") == ["error", "closed", "why", "throttle_time_ms", "error_code"]
    assert "records" in answer_fields("Fetch")
    assert {"members", "records"} <= set(answer_fields())


def test_the_form_of_an_answer_shows_what_is_inside() -> None:
    """As a scenario would write it."""
    assert answer_form("Heartbeat") == "throttle_time_ms, error"
    assert answer_form("OffsetCommit") == (
        "throttle_time_ms, topics: [{name, topic_id, partitions: [{partition_index, error}]}]"
    )


def test_versions_that_there_are_not() -> None:
    """What is no number is left to others."""
    assert version_problem("Heartbeat", 4) == version_problem("Heartbeat", "x") == version_problem(None, 4) == ""
    assert version_problem("Heartbeat", 5) == "Heartbeat has no version 5; there are 0 to 4"
