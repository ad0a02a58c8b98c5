"""Requests with very many names: their rights are judged in steps, and little of each refusal is kept."""

import pytest

from fakebroker.broker.core.events import AccessDenied
from fakebroker.broker.engine.authorization.access import MAX_NOTED, NAMES_PER_STEP
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.registry import api
from tests.support.engine import SimEngine
from tests.support.frames import request
from tests.support.long_lists import Path, with_many
from tests.support.rights import AUTHORIZER, client_of
from tests.support.small_steps import make_steps_smaller
from tests.support.turns_of_request import turns
from tests.support.work_counter import calls_of

COUNT = 5 * NAMES_PER_STEP
BROKER = 4  # the type of a resource
FEW, MANY = 300, 900
SCALE = 100  # requests are so much shorter than in an attack; so are steps
READ = 12  # calls of an entry in one turn: what it takes to read it and to write its answer


@pytest.mark.parametrize(
    ("name", "version", "path", "user"),
    [
        ("ListOffsets", 9, ("topics",), "stranger"),
        ("DeleteGroups", 2, ("groups_names",), "stranger"),
        ("DescribeGroups", 5, ("groups",), "stranger"),
        ("FindCoordinator", 5, ("coordinator_keys",), "root"),
    ],
)
def test_others_are_served_while_many_names_are_judged(name: str, version: int, path: Path, user: str) -> None:
    """No turn judges all names of a long list, and the answer has an entry for each."""
    lab = SimEngine(AUTHORIZER)
    client = client_of(lab, user)
    fields = with_many(api(name).request, version, path, COUNT)
    connection = client.socket.connection
    connection.receive(request(name, version, **fields), lab.network.now)
    assert connection.is_parked
    assert lab.engine.works
    lab.network.flush()
    answer = client.answer(name, version)
    (entries,) = (value for value in vars_of(answer) if isinstance(value, list))
    assert len(entries) == COUNT
    assert lab.engine.errors == []


def vars_of(answer: object) -> list[object]:
    return [getattr(answer, spec.name) for spec in answer.fields]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "path", "calls"),
    [
        ("ListOffsets", ("topics",), 95),
        ("DeleteGroups", ("groups_names",), 76),
        ("TxnOffsetCommit", ("topics",), 40),
        ("AlterPartitionReassignments", ("topics",), 60),
    ],
)
def test_a_refused_entry_costs_little(name: str, path: Path, calls: int) -> None:
    """A frame of 1 MB may have 300,000 of them: what is the same for all is found out once."""
    lab = SimEngine(AUTHORIZER)
    client = client_of(lab, "stranger")
    version = lab.engine.listeners[0].versions[api(name).key][1]
    data = request(name, version, **with_many(api(name).request, version, path, 1000))
    client.socket.send(data)
    client.answer(name, version)
    assert calls_of(lambda: client.socket.send(data)) < calls * 1000


@pytest.mark.parametrize(
    ("name", "version", "path"),
    [("DeleteTopics", 5, ("topic_names",)), ("Metadata", 8, ("topics",)), ("AlterConfigs", 2, ("resources",))],
)
def test_no_turn_judges_all_again(name: str, version: int, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """900,000 names of topics that there are not are 4.5 MB, and nobody needs a right to send them."""
    make_steps_smaller(monkeypatch, SCALE)

    def dearest(count: int) -> int:
        lab = SimEngine(AUTHORIZER)
        client = client_of(lab, "stranger")
        fields = with_many(api(name).request, version, path, count)
        for resource in fields.get("resources", ()):
            resource.resource_type = BROKER  # whose names are numbers
        data = request(name, version, **fields)
        found = max(turns(lab, client.socket.connection, data))
        lab.network.flush()
        assert client.answer(name, version) is not None
        return found

    dearest(FEW)  # the first may load and compile things
    assert dearest(MANY) - dearest(FEW) < (MANY - FEW) * READ


def test_the_journal_has_the_first_refusals_of_a_request() -> None:
    """A client without rights does not push everything else out of the journal by one request."""
    lab = SimEngine(AUTHORIZER)
    client = client_of(lab, "stranger")
    client.socket.send(request("DeleteGroups", 2, groups_names=[f"g{number}" for number in range(2 * MAX_NOTED)]))
    results = client.answer("DeleteGroups", 2).results
    assert [each.error_code for each in results] == [ErrorCode.GROUP_AUTHORIZATION_FAILED] * (2 * MAX_NOTED)
    assert len(lab.engine.journal.events(AccessDenied)) == MAX_NOTED
