"""How a broker is reached: its address, TLS and a login; and whether what answers there is a Kafka broker."""

import time
from collections.abc import Callable
from threading import Event
from typing import Any, NamedTuple

from fakebroker.client.cluster.links import addresses_of
from fakebroker.client.connection import ClientConnection, Pending
from fakebroker.client.requesting import Flow
from fakebroker.client.scripted.tcp_driver import NotSecured, TcpDriver
from fakebroker.client.scripted.tls_stream import context_of
from fakebroker.client.security import Security, Tls
from fakebroker.protocol.errors import FakebrokerError, InvalidArgument, Unavailable, error_name
from fakebroker.protocol.listeners import SSL, Address
from fakebroker.protocol.wire.messages.api_versions import ApiVersionsRequest
from fakebroker.protocol.wire.messages.metadata import MetadataRequest
from fakebroker.protocol.wire.messages.sasl_handshake import SaslHandshakeRequest

CONNECT_S = 5
ANSWER_MS = 10_000
_PIECE_MS = 500  # how often a wait looks whether it is to end
_CLIENT_ID = "fakebroker-conformance"


class OutOfTime(FakebrokerError):
    """A case took longer than it may, or the run is to end."""


class Access(NamedTuple):
    """Where a broker is, and how connections to it are secured."""

    host: str
    port: int
    security: Security = Security()

    def __str__(self) -> str:
        return str(Address(self.host, self.port))


def parsed_address(text: str) -> Address:
    """Host and port of one HOST:PORT. Raises InvalidArgument."""
    found = addresses_of(text)
    if len(found) != 1:
        raise InvalidArgument("address", text, f"{text}: give one broker")
    return found[0]


class LimitedDriver(TcpDriver):
    """A driver that ends every wait at a deadline, or when `is_over` is set."""

    def __init__(
        self,
        access: Access,
        limit_s: float,
        slack: float = 1.0,
        is_over: Event | None = None,
        control: Callable[[str, int], None] | None = None,
    ) -> None:
        """Raises InvalidArgument for certificates that cannot be used."""
        tls = access.security.tls
        context = None if tls is None else context_of(tls)
        name = "" if tls is None else tls.server_name
        credentials = access.security.credentials
        super().__init__(access.host, access.port, slack, control, context, name, credentials, CONNECT_S)
        self._deadline_s = time.monotonic() + limit_s
        self._limit_s = limit_s
        self._is_over = is_over or Event()

    def pass_time(self, ms: int, until: Callable[[], bool] | None = None) -> bool:
        """As TcpDriver. Raises OutOfTime at the deadline."""
        end_s = time.monotonic() + ms / 1000
        while True:
            if self._is_over.is_set():
                raise OutOfTime("the run was ended")
            left_s = end_s - time.monotonic()
            if time.monotonic() > self._deadline_s:
                raise OutOfTime(f"not done after {self._limit_s:.0f} s")
            if super().pass_time(round(max(0, min(left_s * 1000, _PIECE_MS))), until) and until is not None:
                return True
            if time.monotonic() >= end_s:
                return bool(until and until())

    def run(self, client: ClientConnection, flow: Flow[Any]) -> Any:
        """Take a step with several requests; what it returns. Raises Unavailable when an answer does not come."""
        try:
            pending: Pending = next(flow)
            while True:
                self.flush(client)
                if not self.pass_time(ANSWER_MS, lambda sent=pending: sent.is_done):  # type: ignore[misc]
                    raise Unavailable(f"no answer to {pending!r} within {ANSWER_MS // 1000} s")
                pending = flow.send(pending.result())
        except StopIteration as end:
            return end.value


def served_versions(access: Access) -> dict[int, tuple[int, int]]:
    """What ApiVersions says: API key -> (lowest, highest). Raises Unavailable, which says what is in the way."""
    try:
        answer = _asked(access, ApiVersionsRequest(), 0)
    except (OSError, FakebrokerError) as error:
        raise Unavailable(_why_not(access, error)) from None
    if answer.error_code:
        raise Unavailable(f"{access} answers ApiVersions v0 with {error_name(answer.error_code)}")
    return {entry.api_key: (entry.min_version, entry.max_version) for entry in answer.api_keys}


def is_alive(access: Access) -> bool:
    """Whether the broker still answers ApiVersions."""
    try:
        served_versions(access)
    except Unavailable:
        return False
    return True


def check_login(access: Access) -> None:
    """Raises Unavailable if the broker wants a login that this access has not."""
    try:
        _asked(access, MetadataRequest(topics=[]), 1)
    except (OSError, FakebrokerError) as error:
        if access.security.credentials is None and (mechanisms := _mechanisms(access)):
            options = "give --command-config FILE with sasl.mechanism and sasl.jaas.config"
            raise Unavailable(f"{access} wants a login (SASL: {', '.join(mechanisms)}): {options}") from None
        raise Unavailable(f"{access} answers ApiVersions, and not Metadata: {_text(error)}") from None


def _asked(access: Access, request: Any, version: int) -> Any:
    driver = LimitedDriver(access, 2 * CONNECT_S)
    client = ClientConnection(_CLIENT_ID)
    try:
        driver.open(client)
        pending = client.send(request, version)
        driver.flush(client)
        if not driver.pass_time(round(CONNECT_S * 1000), lambda: pending.is_done):
            raise OutOfTime(f"no answer within {CONNECT_S:g} s")
        return pending.result()
    finally:
        driver.close_all()


def _why_not(access: Access, error: Exception) -> str:
    """Why no ApiVersions came, with the option that helps if there is one."""
    if isinstance(error, NotSecured):
        return str(error)
    if isinstance(error, ConnectionRefusedError):
        return f"nothing listens at {access}"
    if isinstance(error, OSError):
        return f"{access} cannot be reached: {error}"
    if isinstance(error, OutOfTime):
        return f"{access} accepts connections and does not answer ApiVersions within {CONNECT_S:g} s"
    if access.security.tls is None and _speaks_tls(access):
        return f"{access} speaks TLS: give --command-config FILE with security.protocol=SSL or SASL_SSL"
    return f"what answers at {access} is no Kafka broker: {_text(error)}"


def _speaks_tls(access: Access) -> bool:
    unverified = Security(SSL, Tls(verifies=False, checks_host=False))
    driver = LimitedDriver(access._replace(security=unverified), CONNECT_S)
    try:
        driver.open(ClientConnection(_CLIENT_ID))
    except (OSError, FakebrokerError):
        return False
    finally:
        driver.close_all()
    return True


def _mechanisms(access: Access) -> list[str]:
    """The mechanisms that the broker names to one that asks for another."""
    try:
        answer = _asked(access, SaslHandshakeRequest(mechanism="?"), 1)
    except (OSError, FakebrokerError):
        return []
    return list(answer.mechanisms)


def _text(error: Exception) -> str:
    return f"{error}" if isinstance(error, FakebrokerError) else f"{type(error).__name__}: {error}"
