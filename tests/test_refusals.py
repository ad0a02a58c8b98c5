"""The whole answers to a user without rights: as a running Kafka has them, for every API and version that is served."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.client.scripted.scripted_client import ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.registry import APIS
from fakebroker.testing.virtual_broker import VirtualBroker
from tests.support.real_kafka import VERSION, needs_kafka, running_kafka
from tests.support.refused_requests import RefusedRequests, shown
from tests.support.rights_history import SETTINGS, RightsHistory

# What is not compared, and why.
DIFFERENT = {
    "SaslHandshake": "the client has logged in",
    "SaslAuthenticate": "the same",
    "ApiVersions": "asks for no right, and has its own comparison",
    "DescribeCluster": "the same",
    "CreateDelegationToken": "a user may make tokens of its own: ids and times are random",
    "DescribeDelegationToken": "shows them",
    "GetTelemetrySubscriptions": "the id of a client is random",
    "WriteTxnMarkers": "Kafka answers two markers of one producer once",
}
DOUBLED = 2
UNANSWERED_BY_KAFKA = {("AlterConfigs", DOUBLED)}  # it fails, and the client waits

Answers = dict[tuple[str, int, int], Any]


def asked(clients: ScriptedClients, settle_ms: int, versions: dict[int, tuple[int, int]]) -> Answers:
    """The answers by API, version and number of the variant."""
    history = RightsHistory(clients, 1, settle_ms=settle_ms, steps=0)
    history.play()
    requests, client, answers = RefusedRequests(history.names), history.users["alice"], {}
    for key, (lowest, highest) in sorted(versions.items()):
        name = APIS[key].name
        for version in range(lowest, highest + 1) if name not in DIFFERENT else ():
            for number, fields in enumerate(requests.variants(APIS[key], version)):
                if (name, number) not in UNANSWERED_BY_KAFKA:
                    answer = client.request(name, version, **fields)
                    answers[name, version, number] = shown(answer, version, history.names)
    return answers


def here(then: Callable[[dict[int, tuple[int, int]], Answers], None]) -> None:
    """Ask a broker in virtual time."""
    config = {**SETTINGS, "listeners": "SASL_PLAINTEXT://:9092"}
    with VirtualBroker(profile="kafka", config=config) as broker:
        served = {key: each for key, each in broker._engine.listeners[0].versions.items() if key in APIS}
        answers = asked(ScriptedClients(broker.driver), 0, served)
        assert broker.errors == []
        then(served, answers)


@pytest.mark.rules("AU-4", "AU-6")
@pytest.mark.parametrize("release", [pytest.param(VERSION, marks=[*needs_kafka(VERSION), pytest.mark.slow])])
def test_refusals_are_those_of_a_running_kafka(release: str) -> None:
    """Every field of every answer, about what exists and what does not, and with each entry twice."""

    def compare(served: dict[int, tuple[int, int]], answers: Answers) -> None:
        with running_kafka(SETTINGS, release, {"SASL_PLAINTEXT": "SASL_PLAINTEXT"}) as kafka:
            host, _, port = kafka.addresses["SASL_PLAINTEXT"].rpartition(":")
            clients = ScriptedClients(TcpDriver(host, int(port)))
            there = asked(clients, 40, served)
            clients.close()
        different = [f"{key}:\n{there[key]}\n{answers[key]}" for key in answers if answers[key] != there[key]]
        assert different == []

    here(compare)


@pytest.mark.rules("AU-4")
def test_what_a_refusal_says_beside_its_code() -> None:
    """Some of what was found on Kafka 4.3.1 (see the test above): numbers that mean nothing, and messages."""

    def look(_: dict[int, tuple[int, int]], answers: Answers) -> None:
        producer = answers["InitProducerId", 5, 0]
        assert (producer["ErrorCode"], producer["ProducerId"], producer["ProducerEpoch"]) == (
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            -1,
            -1,
        )
        records = answers["DeleteRecords", 2, 0]["Topics"][0]["Partitions"][0]
        assert (records["ErrorCode"], records["LowWatermark"]) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, -1)
        offsets = answers["OffsetFetch", 1, 0]["Topics"][0]["Partitions"][0]
        assert (offsets["ErrorCode"], offsets["CommittedOffset"]) == (ErrorCode.GROUP_AUTHORIZATION_FAILED, -1)
        found = answers["FindCoordinator", 3, 0]
        assert (found["ErrorMessage"], found["NodeId"]) == ("Group authorization failed.", -1)
        assert answers["CreateAcls", 3, 0]["Results"][0]["ErrorMessage"] == "Request needs ALTER permission."
        scram = answers["DescribeUserScramCredentials", 0, 0]
        assert [(each["User"], each["ErrorMessage"]) for each in scram["Results"]] == [("", None)] * 2
        doubled = answers["CreatePartitions", 3, DOUBLED]["Results"]
        assert [(each["ErrorCode"], each["ErrorMessage"]) for each in doubled] == [
            (ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
        ] * 2
        assert len(answers["DescribeGroups", 5, DOUBLED]["Groups"]) == 4  # each refusal as often as it is asked for

    here(look)
