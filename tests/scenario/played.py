"""Happenings without a player: scripted clients on an engine in virtual time, what they send and hear noted."""

from collections.abc import Callable
from typing import Any

from fakebroker.engine.journal import Recorded
from fakebroker.scenario.happenings import BrokerEvent, Happening, Received, Sent, StepBegan
from fakebroker.scenario.script import Actor, Place, Scenario, Step
from fakebroker.schema.jsonable import to_json
from fakebroker.testclient.scripted_client import ScriptedClient, ScriptedClients
from fakebroker.testclient.sim_driver import SimDriver
from fakebroker.wire.registry import APIS
from tests.support.engine import SimEngine
from tests.support.time import START

FILE = "scenarios/two-members.yaml"


def make_scenario(**changes: Any) -> Scenario:
    """A scenario with usual settings."""
    fields: dict[str, Any] = {
        "name": "two-members",
        "about": "Two members share a group.",
        "sources": ["KIP-211"],
        "path": FILE,
        "release": "4.3",
        "profile": "test",
        "nodes": 1,
        "racks": None,
        "config": {},
        "seed": 7,
        "jitter_ms": (0, 0),
        "parameters": {},
        "topics": {"orders": {"partitions": 2}},
        "actors": {"a": Actor("a", "a", {}, None, Place(FILE, 4))},
        "timeline": [],
    }
    return Scenario(**{**fields, **changes})


class Played:
    """A play by hand."""

    def __init__(self) -> None:
        self.engine = SimEngine({"group.initial.rebalance.delay.ms": 0})
        self.driver = SimDriver(self.engine.engine)
        self.clients = ScriptedClients(self.driver)
        self.happenings: list[Happening] = []
        self._number = 0
        self._waiting: list[Any] = []
        self._seen = 0

    @property
    def at_ms(self) -> int:
        return self.engine.engine.now.wall_ms - START.wall_ms

    def actor(self, name: str) -> ScriptedClient:
        client = self.clients.client(name)
        send = client.steps.connection.send

        def note(request: Any, version: int, expects_answer: bool = True) -> Any:
            pending = send(request, version, expects_answer)
            self._number += 1
            name_of_api = APIS[request.api_key].name
            self.happenings.append(
                Sent(self.at_ms, name, name_of_api, version, to_json(request, version), self._number)
            )
            self._waiting.append((name, name_of_api, version, pending, self._number, self.at_ms))
            return pending

        client.steps.connection.send = note  # type: ignore[method-assign]
        return client

    def step(self, line: int, text: str, do: Callable[[], object]) -> None:
        """Take a step."""

        self.happenings.append(StepBegan(self.at_ms, Step(Place(FILE, line), text)))
        do()
        self.note()

    def note(self) -> None:
        """Events and answers that have come."""
        for entry in self.engine.journal.entries(self._seen):
            self._seen = entry.seq + 1
            if isinstance(entry, Recorded):
                self.happenings.append(BrokerEvent(entry.at.wall_ms - START.wall_ms, entry.event))
        for each in list(self._waiting):
            name, api, version, pending, number, sent_ms = each
            if pending.is_done:
                self._waiting.remove(each)
                answer = None if pending.response is None else to_json(pending.response, version)
                self.happenings.append(
                    Received(self.at_ms, name, api, version, answer, number, self.at_ms - sent_ms, None)
                )
