"""No turn judges very many names, whatever API has them in whatever list."""

from collections.abc import Iterator
from typing import Any

import pytest

from fakebroker.broker.core.security.acls import Acl, Operation, PatternType, Permission, ResourcePattern, ResourceType
from fakebroker.broker.core.security.authorizer import Authorizer
from fakebroker.broker.engine.authorization import (
    authorized_request,
    group_requests,
    metadata_requests,
    share_requests,
    topic_requests,
)
from fakebroker.broker.engine.authorization.needs import NEEDS
from fakebroker.broker.engine.engine import Engine
from fakebroker.protocol.wire.registry import APIS, Api
from tests.support.engine import SimEngine
from tests.support.frames import request
from tests.support.long_lists import NAME, Path, list_paths, with_many
from tests.support.rights import AUTHORIZER, client_of

STEP = 100  # in place of NAMES_PER_STEP
COUNT = 10 * STEP
PREFIX = NAME.format("")
MOST_OF_TURN = 3 * STEP  # two questions for each name, and the end of the step before
MODULES = (authorized_request, group_requests, metadata_requests, share_requests, topic_requests)
SHOWING = ("include_authorized_operations", "include_topic_authorized_operations")


def lists(lab: SimEngine) -> Iterator[tuple[Api, int, Path]]:
    """Each list of each API with rights, in the oldest and the newest version that has it here."""
    served = lab.engine.listeners[0].versions
    for key in sorted(NEEDS.keys() & served.keys()):
        api, (lowest, highest) = APIS[key], served[key]
        paths: dict[Path, list[int]] = {}
        for version in range(lowest, highest + 1):
            for path in list_paths(api.request, version):
                paths.setdefault(path, []).append(version)
        for path, versions in paths.items():
            for version in sorted({versions[0], versions[-1]}):
                yield api, version, path


def lab_with_rights() -> SimEngine:
    """An engine where alice may do all with what is named so, and not with anything else."""
    lab = SimEngine(AUTHORIZER)
    assert lab.cluster.authorizer is not None
    for resource_type in (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID):
        pattern = ResourcePattern(resource_type, PREFIX, PatternType.PREFIXED)
        lab.cluster.authorizer.acls.add(Acl(pattern, "User:alice", "*", Operation.ALL, Permission.ALLOW))
    return lab


class Judged:
    """How many questions the turns asked about rights, at most."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.most = self._now = 0
        decide, operations, step = Authorizer.decide, Authorizer.operations, Engine.step

        def counted_decide(authorizer: Authorizer, *args: Any) -> Any:
            self._count(1)
            return decide(authorizer, *args)

        def counted_operations(authorizer: Authorizer, *args: Any) -> Any:
            self._count(1)
            return operations(authorizer, *args)

        def new_turn(engine: Engine, *args: Any) -> None:
            self._now = 0
            step(engine, *args)

        monkeypatch.setattr(Authorizer, "decide", counted_decide)
        monkeypatch.setattr(Authorizer, "operations", counted_operations)
        monkeypatch.setattr(Engine, "step", new_turn)

    def begin(self) -> None:
        self.most = self._now = 0

    def _count(self, questions: int) -> None:
        self._now += questions
        self.most = max(self.most, self._now)


@pytest.mark.slow
@pytest.mark.parametrize("user", ["alice", "stranger"])
def test_no_turn_judges_very_many(user: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither before the handler nor in what it answers, for clients with the rights and without them."""
    judged, asked, too_many = Judged(monkeypatch), 0, dict[str, int]()
    lab = lab_with_rights()
    for module in MODULES:
        monkeypatch.setattr(module, "NAMES_PER_STEP", STEP)
    for api, version, path in lists(lab):
        fields = with_many(api.request, version, path, COUNT)
        there = [spec.name for spec in api.request.fields if spec.versions.includes(version)]
        shown = {name: True for name in SHOWING if name in there}
        client = client_of(lab, user)
        judged.begin()
        client.socket.send(request(api.name, version, **fields | shown))
        lab.network.flush()
        client.socket.close()
        asked += judged.most > STEP // 2
        if judged.most > MOST_OF_TURN:
            too_many[f"{api.name} v{version} {'.'.join(path)}"] = judged.most
    assert too_many == {}
    assert asked > 20
