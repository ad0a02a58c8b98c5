"""What a session shows of the brokers that were recorded."""

from typing import Any

import pytest

from fakebroker.scenarios.recording.survey import Survey

DELAY = "group.initial.rebalance.delay.ms"


def _line(kind: str, at_ms: int, connection: int, message: dict[str, Any], api: str = "JoinGroup") -> dict[str, Any]:
    return {
        "kind": kind,
        "at_ms": at_ms,
        "connection": connection,
        "correlation_id": 1,
        "api": api,
        "version": 5,
        "message": message,
    }


def _joins(survey: Survey, sent_ms: list[int], answered_ms: int) -> None:
    """Members join at these times; all are answered together, the last one first."""
    request = {"GroupId": "g", "MemberId": "", "Protocols": []}
    lines = [_line("request", at_ms, number, request) for number, at_ms in enumerate(sent_ms)]
    answer = {"ErrorCode": 0, "GenerationId": 1, "MemberId": "m"}
    lines += [_line("answer", answered_ms, number, answer) for number in reversed(range(len(sent_ms)))]
    for number, line in enumerate(lines, 1):
        survey.take(number, line)


@pytest.mark.parametrize(
    ("sent_ms", "answered_ms", "delay_ms"),
    [
        ([0], 20, 0),
        ([0], 3010, 3000),
        ([0, 1100, 2300], 6050, 3000),
        ([0, 1000], 6020, 3000),
        ([0, 1000, 4000], 9030, 3000),
        ([0, 100, 150, 160], 400, 200),
    ],
)
@pytest.mark.rules("JG-32")
def test_the_initial_delay_follows_from_the_first_join(sent_ms: list[int], answered_ms: int, delay_ms: int) -> None:
    """Every member that joins while it lasts makes it begin again."""
    survey = Survey()

    _joins(survey, sent_ms, answered_ms)

    assert survey.settings[DELAY] == str(delay_ms)


def test_given_settings_are_not_guessed() -> None:
    """Where the recorder asked for the settings, what they do not name has its default."""
    survey = Survey()
    broker = {"ResourceType": 4, "ErrorCode": 0, "ResourceName": "1", "Configs": []}
    survey.take(1, {"kind": "state", "at_ms": 0, "about": "configs", "message": {"Results": [broker]}})

    _joins(survey, [0, 1000], 4000)

    assert DELAY not in survey.settings


def _asks(survey: Survey, number: int, api: str, request: dict[str, Any], error: int, **inside: Any) -> bool:
    """Somebody asks; whether the survey takes the error for one of a coordinator that is starting."""
    survey.take(number, _line("request", number, 1, request, api))
    survey.take(number + 1, _line("answer", number, 1, {"ErrorCode": error, **inside}, api))
    return number in survey.starting


@pytest.mark.parametrize("error", [14, 15, 16])
def test_a_coordinator_is_starting_until_it_has_served_the_group(error: int) -> None:
    """Afterwards the same error is a difference, until the Kafka has gone and may have started again."""
    survey = Survey()
    about = {"GroupId": "g"}

    assert _asks(survey, 1, "Heartbeat", about, error)
    assert not _asks(survey, 3, "Heartbeat", about, 0)
    assert not _asks(survey, 5, "Heartbeat", about, error)
    assert _asks(survey, 7, "Heartbeat", {"GroupId": "other"}, error)
    survey.take(9, {"kind": "close", "at_ms": 9, "connection": 1, "by": "client", "reason": "closed by the client"})
    assert not _asks(survey, 11, "Heartbeat", about, error)
    survey.take(13, {"kind": "close", "at_ms": 13, "connection": 1, "by": "upstream", "reason": "it was reset"})
    assert _asks(survey, 15, "Heartbeat", about, error)


def test_who_learned_of_a_coordinator_may_still_find_it_starting() -> None:
    """FindCoordinator says where it will be; the groups of an answer with several are looked at one by one."""
    survey = Survey()

    assert not _asks(survey, 1, "FindCoordinator", {"Key": "g", "KeyType": 0}, 0, NodeId=1)
    assert _asks(survey, 3, "JoinGroup", {"GroupId": "g"}, 14)
    assert not _asks(
        survey, 5, "OffsetFetch", {"Groups": [{"GroupId": "g"}]}, 0, Groups=[{"GroupId": "g", "Topics": []}]
    )
    assert not _asks(survey, 7, "DescribeGroups", {"Groups": ["g"]}, 14)
    assert _asks(survey, 9, "InitProducerId", {"TransactionalId": None}, 14)


@pytest.mark.parametrize("node", ["one", [1], 1.5, True])
def test_a_node_is_a_number(node: object) -> None:
    """Others are errors of their line: they could not be put in order later."""
    with pytest.raises(TypeError, match="a node is a whole number, not"):
        Survey().take(1, {"kind": "connect", "at_ms": 0, "connection": 1, "node": node})
