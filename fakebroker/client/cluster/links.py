"""Connections to the brokers of a cluster, one to each, in the versions that both sides speak."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from fakebroker.client.cluster.errors import (
    LoginMissing,
    NoBroker,
    NoCommonVersion,
    NotLetIn,
    SilentPort,
    UnreadableAnswer,
)
from fakebroker.client.connection import ClientConnection, ConnectionLost, Pending
from fakebroker.client.scripted.tcp_driver import TLS_REFUSED, NotSecured, TcpDriver
from fakebroker.client.security import Security
from fakebroker.protocol.errors import ErrorCode, InvalidArgument, WireError, error_name
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.schema import Message
from fakebroker.protocol.wire.framing import TLS_ALERT
from fakebroker.protocol.wire.messages.api_versions import ApiVersionsRequest
from fakebroker.protocol.wire.messages.metadata import MetadataRequest
from fakebroker.protocol.wire.messages.sasl_handshake import SaslHandshakeRequest
from fakebroker.protocol.wire.registry import api

if TYPE_CHECKING:
    from fakebroker.client.scripted.driver import Driver

Endpoint = Address | None
"""Where a broker is reached; None is the one that a driver connects to by itself."""
_VERSIONS_VERSION = 0  # of ApiVersions: every broker answers it, and it has all that is needed
_LOGIN: Final = "set security.protocol=SASL_PLAINTEXT or SASL_SSL, sasl.mechanism and a login"
FIRST_ANSWER_MS: Final = 5_000
"""How long a connection may take until it is accepted, and then until its first request is answered: a broker does both
at once, and what is no broker may be silent for ever."""


class _Link:
    """An open connection, and the versions that the broker at its end serves."""

    def __init__(self, connection: ClientConnection, served: dict[int, tuple[int, int]]) -> None:
        self.connection = connection
        self.served = served


class Links:
    """Connections by address. They are opened when first used, and reopened after they were lost."""

    def __init__(self, client_id: str, timeout_ms: int, security: Security, driver: "Driver | None" = None) -> None:
        """Connections are those of `driver`, or else over TCP as `security` says. Raises InvalidArgument for that."""
        self._client_id = client_id
        self._timeout_ms = timeout_ms
        self._is_own = driver is None
        self._first_answer_ms = min(timeout_ms, FIRST_ANSWER_MS)
        self.driver = driver or TcpDriver.secured(
            Address("", 0), security, connect_timeout_s=self._first_answer_ms / 1000
        )  # every connection names its address
        self._open: dict[Endpoint, _Link] = {}
        self._has_tls = security.tls is not None
        self._logs_in = security.credentials is not None
        self._is_let_in = False  # whether anything but ApiVersions has ever been answered

    def version(self, address: Endpoint, request: type[Message], newest: int | None = None, oldest: int = 0) -> int:
        """The newest version of a request that we and the broker there speak, from `oldest` to `newest`.

        Raises NoBroker if it cannot be reached, NoCommonVersion if there is none.
        """
        served = self.served(address)
        if MetadataRequest.api_key not in served:
            raise NoCommonVersion(
                f"{_shown(address)} is not a broker's port: it does not serve Metadata, as the port of a"
                " controller does not"
            )
        if request.api_key not in served:
            raise NoCommonVersion(f"{_shown(address)} does not serve {api(request.api_key).name}")
        low, high = served[request.api_key]
        found = min(high, request.versions.last, high if newest is None else newest)
        first = max(oldest, request.versions.first)
        if found < max(low, first):
            raise NoCommonVersion(
                f"{_shown(address)} serves no version of {api(request.api_key).name} that is spoken here:"
                f" it has {low} to {high}, we have {first} to {request.versions.last}"
            )
        return found

    def served(self, address: Endpoint) -> Mapping[int, tuple[int, int]]:
        """The lowest and highest version of each API that is served there. Raises NoBroker."""
        return self._link(address).served

    def send(self, address: Endpoint, request: Message, version: int, expects_answer: bool = True) -> Pending:
        """Send a request; `wait` for what is returned. Raises NoBroker."""
        connection = self._link(address).connection
        pending = connection.send(request, version, expects_answer)
        self.driver.flush(connection)
        return pending

    def wait(self, address: Endpoint, pending: Pending, extra_ms: int = 0) -> Any:
        """The answer to what was sent there, within the timeout and `extra_ms`, which the broker may take to answer.

        Raises NoBroker when it does not come, UnreadableAnswer when it cannot be decoded, and closes the connection.
        """
        if not self._is_answered(address, pending, self._timeout_ms + extra_ms):
            raise NoBroker(f"{_shown(address)} gave no answer to {pending!r} within {self._timeout_ms} ms")
        return self._result(address, pending)

    def ask(self, address: Endpoint, request: Message, version: int, extra_ms: int = 0) -> Any:
        """Send a request and return its answer. Raises NoBroker, UnreadableAnswer."""
        return self.wait(address, self.send(address, request, version), extra_ms)

    def adopt(self, address: Endpoint, connection: ClientConnection) -> None:
        """Use a connection to this address that is open on the same driver already. Raises NoBroker."""
        link = self._open[address] = _Link(connection, {})
        link.served = self._ask_versions(address, self._first_answer_ms)

    def lose(self, address: Endpoint) -> None:
        """Close the connection to an address, if there is one."""
        link = self._open.pop(address, None)
        if link is not None:
            self.driver.close(link.connection)

    def close(self) -> None:
        """Close every connection."""
        for address in list(self._open):
            self.lose(address)
        if self._is_own:
            self.driver.close_all()

    def _link(self, address: Endpoint) -> _Link:
        link = self._open.get(address)
        if link is not None and link.connection.closed_reason is None:
            return link
        connection = ClientConnection(self._client_id)
        within_ms = self._first_answer_ms
        try:
            self.driver.open(connection, address)
        except NotSecured as error:
            raise (NoBroker if self._is_let_in else NotLetIn)(str(error)) from None  # one that stops may come back
        except TimeoutError:
            raise _unreached(SilentPort(f"{_shown(address)} accepts no connection within {within_ms} ms")) from None
        except OSError as error:
            text = f"no broker answers at {_shown(address)}: {error.strerror or error}"
            raise _unreached(NoBroker(text)) from None
        link = self._open[address] = _Link(connection, {})
        link.served = self._ask_versions(address, within_ms)
        return link

    def _ask_versions(self, address: Endpoint, within_ms: int) -> dict[int, tuple[int, int]]:
        """Ask a connection that was just opened for the versions served there. Raises NoBroker, SilentPort."""
        pending = self.send(address, ApiVersionsRequest(), _VERSIONS_VERSION)
        if not self._is_answered(address, pending, within_ms):
            raise SilentPort(
                f"{_shown(address)} accepts connections and gives no answer within {within_ms} ms:"
                " is that the port of a broker, without TLS?"
            )
        listed = self._result(address, pending)
        if listed.error_code != ErrorCode.NONE:
            self.lose(address)
            raise NoBroker(f"{_shown(address)} answers ApiVersions with {error_name(listed.error_code)}")
        served = {each.api_key: (each.min_version, each.max_version) for each in listed.api_keys}
        return {ApiVersionsRequest.api_key: (_VERSIONS_VERSION, _VERSIONS_VERSION), **served}

    def _is_answered(self, address: Endpoint, pending: Pending, within_ms: int) -> bool:
        """Wait for an answer; a connection on which it does not come is closed."""
        self.driver.pass_time(within_ms, lambda: pending.is_done)
        if not pending.is_done:
            self.lose(address)
            return False
        return True

    def _result(self, address: Endpoint, pending: Pending) -> Any:
        link = self._open.get(address)
        is_first = link is None or not link.served
        try:
            answer = pending.result()
        except ConnectionLost as error:
            self.lose(address)
            raise self._reason(address, error, is_first) from None
        except WireError as error:
            self.lose(address)
            if is_first:
                raise NoBroker(f"{_shown(address)}: {error}") from None
            raise UnreadableAnswer(f"{_shown(address)} answers {pending!r} with what cannot be read: {error}") from None
        self._is_let_in = self._is_let_in or not is_first
        return answer

    def _reason(self, address: Endpoint, error: ConnectionLost, is_first: bool) -> NoBroker:
        """Why a connection was closed instead of an answer, and what would be right if that is TLS or a login."""
        where = _shown(address)
        if str(error).endswith(TLS_ALERT) or (is_first and self._speaks_tls(address)):
            return NotLetIn(f"{where} speaks TLS: security.protocol is SSL or SASL_SSL there")
        if TLS_REFUSED in str(error):
            return NotLetIn(f"{where}: {error}")
        if not (is_first or self._is_let_in or self._logs_in) and (mechanisms := self._mechanisms(address)):
            return LoginMissing(f"{where} wants a login (SASL: {', '.join(mechanisms)}): {_LOGIN}")
        return NoBroker(f"{where}: {error}")

    def _speaks_tls(self, address: Endpoint) -> bool:
        """Whether TLS is spoken where it was not tried: not every broker sends an alert before it closes."""
        if address is None or self._has_tls or not self._is_own:
            return False
        from fakebroker.client.scripted.tls_stream import speaks_tls

        return speaks_tls(address, self._first_answer_ms / 1000)

    def _mechanisms(self, address: Endpoint) -> Sequence[str]:
        """The mechanisms of SASL that a listener offers to a client that asks for another; none without SASL."""
        try:
            connection = self._link(address).connection
            pending = connection.send(SaslHandshakeRequest(mechanism="?"), 1)
            self.driver.flush(connection)
            answer: Any = pending.result() if self._is_answered(address, pending, self._first_answer_ms) else None
            return answer.mechanisms if answer is not None else ()
        except (NoBroker, ConnectionLost, WireError):
            return ()
        finally:
            self.lose(address)


def _unreached(error: NoBroker) -> NoBroker:
    error.is_accepted = False
    return error


def _shown(endpoint: Endpoint) -> str:
    return "the broker" if endpoint is None else str(endpoint)


def addresses_of(bootstrap: str) -> Sequence[Address]:
    """The addresses in HOST:PORT,HOST:PORT. Raises InvalidArgument for anything else."""
    found = []
    for part in (each.strip() for each in bootstrap.split(",")):
        host, _, port = part.rpartition(":")
        if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
            text = f"{part!r} is not HOST:PORT with a port from 1 to 65535"
            raise InvalidArgument("bootstrap", bootstrap, text if part == bootstrap else f"{bootstrap!r}: {text}")
        found.append(Address(host.removeprefix("[").removesuffix("]"), int(port)))
    return found
