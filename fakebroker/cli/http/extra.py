"""What the operations beside the powers are made of."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from fakebroker.cli.http.arguments import Arguments
from fakebroker.cli.http.brokers import Brokers
from fakebroker.cli.http.host_access import check_host_access, check_snapshot
from fakebroker.cli.http.plays import Plays
from fakebroker.testing.broker import AsyncFakeBroker
from fakebroker.testing.journal.files import new_run

if TYPE_CHECKING:
    from fakebroker.testing.snapshot.snapshot import Snapshot


class Served:
    """What they work with: the served broker, the isolated ones, the snapshots that were taken through the HTTP API."""

    def __init__(self, broker: AsyncFakeBroker, brokers: Brokers, *, has_host_access: bool) -> None:
        self.broker = broker
        self.has_host_access = has_host_access
        self.brokers = brokers
        self.snapshots: dict[str, Snapshot] = {}
        self.snapshot_count = 0
        self.plays = Plays(brokers.leftovers)
        self.is_closing = False
        self.readers = 0  # of /live
        self.run = new_run()  # whose journal has the numbers

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Raises Problem for options of a broker that callers may not give."""
        if not self.has_host_access:
            check_host_access(options)

    def check_snapshot(self, snapshot: "Snapshot") -> None:
        """Raises Problem for a snapshot whose settings callers may not give."""
        if not self.has_host_access:
            check_snapshot(snapshot)

    def broker_of(self, request: Request) -> AsyncFakeBroker:
        """The broker that a path is about. Raises UnknownThing."""
        broker_id = request.path_params.get("broker_id")
        return self.broker if broker_id is None else self.brokers.find(broker_id).broker


Function = Callable[[Served, Request], Awaitable[Response]]


class Extra(NamedTuple):
    """A method and path that is no power by itself."""

    verb: str
    path: str
    function: Function
    media_type: str = "application/json"
    schema: str = ""  # of a good answer, in the document's components; "" for text
    has_text: bool = False  # whether there is a form for people, too
    status: int = 200
    also: tuple[int, ...] = ()  # other statuses of good answers
    of_broker: bool = False  # whether it exists for isolated brokers, too
    arguments: Callable[[], Arguments] | None = None  # of its body
    example: Mapping[str, Any] | None = None
    covers: tuple[str, ...] = ()  # the powers that it gives, as "Snapshot.taken"
    query: tuple[str, ...] = ()  # the fields of its query
    text_types: tuple[str, ...] = ()  # of a body that is its first argument, as text; `query` has the others then
    is_public: bool = False  # whether its path needs no token; that below /brokers/{broker_id} always does
    errors: tuple[int, ...] = ()  # statuses beside those of every operation

    @property
    def doc(self) -> str:
        """Its docstring."""
        return inspect.getdoc(self.function) or ""
