"""What every step of a scripted client stands on: a request in the version that both sides speak, and its answer."""

from collections.abc import Generator, Mapping
from typing import Any, TypeVar

from fakebroker.client.connection import ClientConnection, Pending
from fakebroker.client.login import Credentials, LoginRefused, log_in, refusal_of
from fakebroker.protocol.arguments.checks import check_text
from fakebroker.protocol.errors import FakebrokerError, UnknownThing
from fakebroker.protocol.schema import Message
from fakebroker.protocol.schema.building import built
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.messages.api_versions import ApiVersionsRequest
from fakebroker.protocol.wire.registry import api, newest_by_name, newest_for_one, no_api

T = TypeVar("T")
Flow = Generator[Pending, Message, T]
Offsets = Mapping[tuple[str, int], int]

# The newest versions that a scripted client speaks, where these are not all: its steps name topics, and are about one
# group and one transaction.
NEWEST_SPOKEN: Mapping[int, int] = {
    **{key: newest_by_name(key) for key in (ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.OFFSET_COMMIT)},
    **{key: newest_for_one(key) for key in (ApiKey.OFFSET_FETCH, ApiKey.ADD_PARTITIONS_TO_TXN)},
}


class Requesting:
    """One client on one connection. `versions` pins APIs to versions, e.g. {"JoinGroup": 4}."""

    def __init__(self, client_id: str | None = "consumer", versions: Mapping[str, int] | None = None) -> None:
        self.connection = ClientConnection(client_id)
        self.pinned = dict(versions or {})
        self.newest = dict(NEWEST_SPOKEN)
        self.credentials: Credentials | None = None  # with which each connection logs in before its first request
        self._is_logged_in = False  # or is about to be
        self._served: dict[int, tuple[int, int]] = {}

    def begin_connection(self) -> None:
        """Go on with a new connection, which the caller opens; it is watched as the one before."""
        before = self.connection
        self.connection = ClientConnection(before.client_id)
        self.connection.watch = before.watch
        self._served, self._is_logged_in = {}, False

    def log_in_first(self) -> Flow[None]:
        """Log in on a connection that has not, if there are credentials. Raises LoginRefused."""
        if self.credentials is None or self._is_logged_in:
            return
        self._is_logged_in = True
        answer = yield from log_in(self.connection, self.credentials)
        if answer.error_code:
            raise LoginRefused(refusal_of(answer, self.credentials))

    def ask(self, request: Message, version: int | None = None) -> Flow[Any]:
        """Send any request and return its answer; without a version the newest that both sides speak."""
        yield from self.log_in_first()
        if version is None:
            version = yield from self.version_of(request)
        return (yield self.connection.send(request, version))

    def request(self, api_name: str, version: int | None = None, /, **fields: Any) -> Flow[Any]:
        """Send a request given by its API's name and its fields, e.g. request("JoinGroup", 4, group_id="g").

        A struct in it may be a mapping: topics=[{"name": "orders", "partition_indexes": [0]}]. Raises UnknownThing for
        an unknown API or field.
        """
        check_text("api_name", api_name)
        try:
            declared = api(api_name)
        except KeyError:
            raise UnknownThing("api_name", api_name, f"api_name: {no_api(api_name)}") from None
        return self.ask(built(declared.request, fields), version)

    def version_of(self, request: Message) -> Flow[int]:
        """The pinned version for a request of this kind, or the newest that both sides speak."""
        name = api(request.api_key).name
        if name in self.pinned:
            return self.pinned[name]
        yield from self.log_in_first()
        if not self._served:
            listed = yield self.connection.send(ApiVersionsRequest(), 0)
            self._served = {entry.api_key: (entry.min_version, entry.max_version) for entry in listed.api_keys}  # type: ignore[attr-defined]
        lowest, highest = self._served.get(request.api_key, (0, -1))
        newest = min(highest, request.versions.last, self.newest.get(request.api_key, highest))
        if newest < max(lowest, request.versions.first):
            raise FakebrokerError(f"the broker and this client have no version of {name} in common")
        return newest


def by_topic(offsets: Offsets) -> dict[str, list[tuple[int, int]]]:
    """Offsets as requests have them: topic -> partitions with their offsets."""
    topics: dict[str, list[tuple[int, int]]] = {}
    for (topic, index), offset in offsets.items():
        topics.setdefault(topic, []).append((index, offset))
    return topics
