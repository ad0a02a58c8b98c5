"""Connections to the brokers of a cluster, one to each, in the versions that both sides speak."""

from collections.abc import Sequence
from typing import Any, Final

from fakebroker.client.cluster.errors import NoBroker, NoCommonVersion, SilentPort
from fakebroker.client.connection import ClientConnection, ConnectionLost, Pending
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.protocol.errors import ErrorCode, InvalidArgument
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.schema import Message
from fakebroker.protocol.wire.messages.api_versions import ApiVersionsRequest
from fakebroker.protocol.wire.messages.metadata import MetadataRequest
from fakebroker.protocol.wire.registry import api

_VERSIONS_VERSION = 0  # of ApiVersions: every broker answers it, and it has all that is needed
FIRST_ANSWER_MS: Final = 5_000
"""How long a connection may take until it is accepted, and then until its first request is answered: a broker does both
at once, and what is no broker may be silent for ever."""


class _Link:
    """An open connection, and the versions that the broker at its end serves."""

    def __init__(self, connection: ClientConnection, served: dict[int, tuple[int, int]]) -> None:
        self.connection = connection
        self.served = served


class Links:
    """Connections by address. They are opened when first used, and opened anew after they were lost."""

    def __init__(self, client_id: str, timeout_ms: int) -> None:
        self._client_id = client_id
        self._timeout_ms = timeout_ms
        self._driver = TcpDriver("", 0)  # every connection names its address
        self._open: dict[Address, _Link] = {}

    def version(self, address: Address, request: type[Message], newest: int | None = None) -> int:
        """The newest version of a request that we and the broker there speak, `newest` at most.

        Raises NoBroker if it cannot be reached, NoCommonVersion if there is none.
        """
        served = self._link(address).served
        if MetadataRequest.api_key not in served:
            raise NoCommonVersion(
                f"{shown_address(address)} is not a broker's port: it does not serve Metadata, as the port of a"
                " controller does not"
            )
        if request.api_key not in served:
            raise NoCommonVersion(f"{shown_address(address)} does not serve {api(request.api_key).name}")
        low, high = served[request.api_key]
        found = min(high, request.versions.last, high if newest is None else newest)
        if found < max(low, request.versions.first):
            raise NoCommonVersion(
                f"{shown_address(address)} serves no version of {api(request.api_key).name} that is spoken here:"
                f" it has {low} to {high}, we have {request.versions.first} to {request.versions.last}"
            )
        return found

    def send(self, address: Address, request: Message, version: int, expects_answer: bool = True) -> Pending:
        """Send a request; `wait` for what is returned. Raises NoBroker."""
        connection = self._link(address).connection
        pending = connection.send(request, version, expects_answer)
        self._driver.flush(connection)
        return pending

    def wait(self, address: Address, pending: Pending, extra_ms: int = 0) -> Any:
        """The answer to what was sent there, within the timeout and `extra_ms`, which the broker may take to answer.

        Raises NoBroker when it does not come, and closes the connection.
        """
        if not self._is_answered(address, pending, self._timeout_ms + extra_ms):
            raise NoBroker(f"{shown_address(address)} gave no answer to {pending!r} within {self._timeout_ms} ms")
        return self._result(address, pending)

    def ask(self, address: Address, request: Message, version: int, extra_ms: int = 0) -> Any:
        """Send a request and return its answer. Raises NoBroker."""
        return self.wait(address, self.send(address, request, version), extra_ms)

    def lose(self, address: Address) -> None:
        """Close the connection to an address, if there is one."""
        link = self._open.pop(address, None)
        if link is not None:
            self._driver.close(link.connection)

    def close(self) -> None:
        """Close every connection."""
        self._open.clear()
        self._driver.close_all()

    def _link(self, address: Address) -> _Link:
        link = self._open.get(address)
        if link is not None and link.connection.closed_reason is None:
            return link
        connection = ClientConnection(self._client_id)
        within_ms = min(self._timeout_ms, FIRST_ANSWER_MS)
        try:
            self._driver.open(connection, address, within_ms / 1000)
        except TimeoutError:
            raise SilentPort(f"{shown_address(address)} accepts no connection within {within_ms} ms") from None
        except OSError as error:
            raise NoBroker(f"no broker answers at {shown_address(address)}: {error.strerror or error}") from None
        link = self._open[address] = _Link(connection, {})
        link.served = self._served(address, within_ms)
        return link

    def _served(self, address: Address, within_ms: int) -> dict[int, tuple[int, int]]:
        """Ask a connection that was just opened for the versions served there. Raises NoBroker, SilentPort."""
        pending = self.send(address, ApiVersionsRequest(), _VERSIONS_VERSION)
        if not self._is_answered(address, pending, within_ms):
            raise SilentPort(
                f"{shown_address(address)} accepts connections and gives no answer within {within_ms} ms:"
                " is that the port of a broker, without TLS?"
            )
        listed = self._result(address, pending)
        if listed.error_code != ErrorCode.NONE:
            self.lose(address)
            raise NoBroker(f"{shown_address(address)} does not tell its versions: error {listed.error_code}")
        return {each.api_key: (each.min_version, each.max_version) for each in listed.api_keys}

    def _is_answered(self, address: Address, pending: Pending, within_ms: int) -> bool:
        """Wait for an answer; a connection on which it does not come is closed."""
        self._driver.pass_time(within_ms, lambda: pending.is_done)
        if not pending.is_done:
            self.lose(address)
            return False
        return True

    def _result(self, address: Address, pending: Pending) -> Any:
        try:
            return pending.result()
        except ConnectionLost as error:
            self.lose(address)
            raise NoBroker(f"{shown_address(address)}: {error}") from None


def shown_address(address: Address) -> str:
    """An address as people write it."""
    return f"{address.host}:{address.port}"


def addresses_of(bootstrap: str) -> Sequence[Address]:
    """The addresses in HOST:PORT,HOST:PORT. Raises InvalidArgument for anything else."""
    found = []
    for part in (each.strip() for each in bootstrap.split(",")):
        host, _, port = part.rpartition(":")
        if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
            raise InvalidArgument("bootstrap", bootstrap, f"bootstrap servers {bootstrap!r}: {part!r} is not HOST:PORT")
        found.append(Address(host.removeprefix("[").removesuffix("]"), int(port)))
    return found
