"""No turn judges very many names, whatever API has them in whatever list."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from fakebroker.broker.core.security.acls import (
    Acl,
    Acls,
    Found,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from fakebroker.broker.engine.authorization import access
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
LOOKS = 1 + len(PREFIX) + 1  # that one name takes where each of its prefixes has entries: as many as names count
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


def lab_with_rights(prefixes: Iterable[str]) -> SimEngine:
    """An engine where alice may do all with what is named so, and not with anything else; bob with these prefixes."""
    lab = SimEngine(AUTHORIZER)
    assert lab.cluster.authorizer is not None
    for resource_type in (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID):
        for prefix, user in ((PREFIX, "alice"), *((each, "bob") for each in prefixes)):
            pattern = ResourcePattern(resource_type, prefix, PatternType.PREFIXED)
            lab.cluster.authorizer.acls.add(Acl(pattern, f"User:{user}", "*", Operation.ALL, Permission.ALLOW))
    return lab


CASES = [
    ("alice", STEP, []),
    ("stranger", STEP, []),
    ("stranger", LOOKS * STEP, [PREFIX[:length] for length in range(1, len(PREFIX))]),
]


class Judged:
    """How much the turns looked at to judge, at most: names, and more for a name that takes more looks than others."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.most = self._now = 0
        about, step = Acls.about, Engine.step

        def counted_about(acls: Acls, *args: Any) -> Found:
            found = about(acls, *args)
            self._count(1 + found.looks // access.LOOKS_PER_NAME)
            return found

        def new_turn(engine: Engine, *args: Any) -> None:
            self._now = 0
            step(engine, *args)

        monkeypatch.setattr(Acls, "about", counted_about)
        monkeypatch.setattr(Engine, "step", new_turn)

    def begin(self) -> None:
        self.most = self._now = 0

    def _count(self, names: int) -> None:
        self._now += names
        self.most = max(self.most, self._now)


@pytest.mark.slow
@pytest.mark.parametrize(("user", "step", "prefixes"), CASES)
def test_no_turn_judges_very_many(user: str, step: int, prefixes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither before the handler nor in what it answers, for clients with the rights and without them.

    Nor does it where each name takes very many looks.
    """
    judged, asked, too_many = Judged(monkeypatch), 0, dict[str, int]()
    lab = lab_with_rights(prefixes)
    monkeypatch.setattr(access, "NAMES_PER_STEP", step)
    if prefixes:
        monkeypatch.setattr(access, "LOOKS_PER_NAME", 1)
    for api, version, path in lists(lab):
        fields = with_many(api.request, version, path, COUNT)
        there = [spec.name for spec in api.request.fields if spec.versions.includes(version)]
        shown = {name: True for name in SHOWING if name in there}
        client = client_of(lab, user)
        judged.begin()
        client.socket.send(request(api.name, version, **fields | shown))
        lab.network.flush()
        client.socket.close()
        asked += judged.most > step // 2
        if judged.most > 3 * step:  # two questions for each name, and the end of the step before
            too_many[f"{api.name} v{version} {'.'.join(path)}"] = judged.most
    assert too_many == {}
    assert asked > 20
