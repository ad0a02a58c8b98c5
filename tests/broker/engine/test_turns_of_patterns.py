"""Patterns of clients: no turn does all of the matching, and nobody's pattern is matched with what he may not know."""

import itertools
from collections.abc import Generator
from typing import Any

import pytest

from fakebroker.broker.core.re2.pattern import Pattern
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.schema import ZERO_UUID
from fakebroker.protocol.wire.messages import incremental_alter_configs as configs
from tests.support.engine import Client, SimEngine
from tests.support.frames import request
from tests.support.rights import AUTHORIZER, allow, client_of
from tests.support.turns_of_request import turns

COUNT = 10  # of what a pattern is matched with
CLIENT_METRICS = 16  # the type of the resource
LIST: tuple[str, int, dict[str, Any]] = ("ListTransactions", 2, {"transactional_id_pattern": "x.*5"})


def make_transactions(client: Client) -> None:
    for number in range(COUNT):
        fields = {"transactional_id": f"x{number}", "transaction_timeout_ms": 60_000}
        assert client.ask("InitProducerId", 4, **fields).error_code == 0


def make_client_metrics(client: Client) -> None:
    """Of which each matches other clients."""
    for number in range(COUNT):
        config = configs.AlterableConfig(name="match", config_operation=0, value=f"client_id=.*{number}")
        resource = configs.AlterConfigsResource(
            resource_type=CLIENT_METRICS, resource_name=f"m{number}", configs=[config]
        )
        answer = client.ask("IncrementalAlterConfigs", 1, resources=[resource])
        assert answer.responses[0].error_code == 0


def lab_with_a_stopwatch() -> SimEngine:
    """Each unit of work takes a second."""
    lab, passed_s = SimEngine(), itertools.count()
    lab.cluster.timers.passes.stopwatch = lambda: float(next(passed_s))
    return lab


@pytest.mark.parametrize(
    ("make", "asked"),
    [
        (make_transactions, LIST),
        (make_client_metrics, ("GetTelemetrySubscriptions", 0, {"client_instance_id": ZERO_UUID})),
    ],
)
def test_matching_that_takes_long_has_turns(make: Any, asked: tuple[str, int, dict[str, Any]]) -> None:
    """The stopwatch ends a step that the count of states does not."""
    lab = lab_with_a_stopwatch()
    client = lab.client()
    make(client)
    name, version, fields = asked
    assert len([*turns(lab, client.socket.connection, request(name, version, **fields))]) > COUNT
    lab.network.flush()
    assert client.answer(name, version).error_code == 0


def test_patterns_of_transactional_ids_are_matched_with_those_one_may_describe(monkeypatch: pytest.MonkeyPatch) -> None:
    """To match others would show nothing, and take the broker's time."""
    lab = SimEngine(AUTHORIZER)
    make_transactions(client_of(lab, "root"))
    plain, matched = Pattern.fullmatch, list[str]()

    def noting(self: Pattern, text: str, pace: Pace) -> Generator[None, None, bool]:
        matched.append(text)
        return plain(self, text, pace)

    monkeypatch.setattr(Pattern, "fullmatch", noting)
    name, version, fields = LIST
    alice = client_of(lab, "alice")
    assert alice.ask(name, version, **fields).transaction_states == []
    assert matched == []
    for known in ("x4", "x5"):
        allow(lab, "DESCRIBE", "TRANSACTIONAL_ID", known)
    assert [each.transactional_id for each in alice.ask(name, version, **fields).transaction_states] == ["x5"]
    assert sorted(matched) == ["x4", "x5"]
