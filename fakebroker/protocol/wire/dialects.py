"""Dialects: layouts that were proposed under version numbers which Kafka later released with others (DR).

A dialect replaces some versions of the released protocol, on a listener of its own. The bytes do not show which dialect
a client speaks (DR-5), so it is configured and never guessed. The messages are in `protocol/wire/drafts.py`, the
handlers in `broker/apis/dialects/`.
"""

from collections.abc import Iterable
from functools import cached_property
from importlib import import_module
from typing import NamedTuple, cast

from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.schema import Message
from fakebroker.protocol.wire.registry import APIS

_DRAFTS = "fakebroker.protocol.wire.drafts"


class Overlay:
    """One version of one API as a dialect has it; to the dispatcher it is an `Api`.

    `draft` begins the names of its messages; a message that is not among the drafts is the released one.
    """

    def __init__(self, key: int, version: int, draft: str, module: str) -> None:
        self.key = key
        self.name = APIS[key].name
        self.version = version
        self.module = module  # in broker/apis/dialects/
        self._draft = draft

    @cached_property
    def request(self) -> type[Message]:
        """The request's class."""
        return self._message("Request", APIS[self.key].request)

    @cached_property
    def response(self) -> type[Message]:
        """The response's class."""
        return self._message("Response", APIS[self.key].response)

    def _message(self, kind: str, released: type[Message]) -> type[Message]:
        return cast(type[Message], getattr(import_module(_DRAFTS), f"{self._draft}{self.name}{kind}", released))

    def __repr__(self) -> str:
        return f"<Overlay {self.name} v{self.version} of {self._draft}>"


class Dialect(NamedTuple):
    """A named set of overlays."""

    name: str
    about: str
    overlays: tuple[Overlay, ...]


DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        Dialect("kip-17", "OffsetFetch v2 with the high watermark", (Overlay(9, 2, "Kip17", "kip_17"),)),
        Dialect("kip-88-draft", "DescribeGroups v1 with committed offsets", (Overlay(15, 1, "Kip88", "kip_88_draft"),)),
        Dialect("kip-211", "OffsetCommit v4 without retention time", (Overlay(8, 4, "Kip211", "kip_211"),)),
    )
}


def overlays_of(names: Iterable[str]) -> dict[tuple[int, int], Overlay]:
    """The overlays of several dialects by API key and version (DR-6).

    Raises FakebrokerError for an unknown name, and for dialects that change the same API.
    """
    owners: dict[int, str] = {}
    overlays: dict[tuple[int, int], Overlay] = {}
    for name in sorted(names):
        if name not in DIALECTS:
            raise FakebrokerError(f"no dialect {name!r}; there are: {', '.join(DIALECTS)}")
        for overlay in DIALECTS[name].overlays:
            owner = owners.setdefault(overlay.key, name)
            if owner != name:
                raise FakebrokerError(f"dialects {owner!r} and {name!r} both change {overlay.name}")
            overlays[overlay.key, overlay.version] = overlay
    return overlays


def versions_with(overlays: Iterable[Overlay], versions: dict[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """What a listener with these overlays announces: the draft is the highest version of its API (DR-7)."""
    announced = dict(versions)
    for overlay in overlays:
        if overlay.key in versions:
            announced[overlay.key] = (min(versions[overlay.key][0], overlay.version), overlay.version)
    return announced


def response_to(request: type[Message]) -> type[Message] | None:
    """The class of the answer to a draft's request; None for a request that is no draft."""
    if request.__module__ != _DRAFTS:
        return None
    overlays = (overlay for dialect in DIALECTS.values() for overlay in dialect.overlays)
    return next(overlay.response for overlay in overlays if overlay.request is request)
