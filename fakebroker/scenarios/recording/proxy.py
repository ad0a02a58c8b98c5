"""The recording proxy: a listening port for each broker of a Kafka, and a session file of all that passes.

Brokers are known by their addresses. The first port stands for the address that the proxy was given; every other
address that an answer names gets a port of its own before the answer goes to the client, so that clients stay here.
"""

import asyncio
import logging
import os
import socket
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from fakebroker.client.cluster.links import addresses_of
from fakebroker.client.scripted.tls_stream import context_of
from fakebroker.client.security import ClientConfig
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.wire.registry import APIS
from fakebroker.scenarios.recording.from_thread import from_thread
from fakebroker.scenarios.recording.lines import Content, Head
from fakebroker.scenarios.recording.link import RECORDING_ENDS, Link
from fakebroker.scenarios.recording.upstream import Upstream
from fakebroker.testing.exchanges.kinds import SCHEMA_VERSION
from fakebroker.testing.exchanges.payloads import Payloads
from fakebroker.testing.exchanges.writing import LineFile

SECRETS, PAYLOADS = "secrets", "payloads"
_READ_AHEAD_BYTES = 64 << 10

_MAX_WARNINGS = 20  # of closed connections; all are in the session
log = logging.getLogger("fakebroker")


class Proxy:
    """Records what clients and one Kafka say to each other."""

    def __init__(
        self,
        kafka: ClientConfig,
        listen: Address,
        writer: LineFile,
        *,
        redacted: frozenset[str] = frozenset({SECRETS}),
        advertise: str | None = None,
        first_port: int | None = None,
    ) -> None:
        """Record clients of `listen`, who talk to `kafka`, with `writer`. Raises InvalidArgument for unusable files.

        Connections to `kafka` speak TLS if its security protocol is that; clients speak plain, and log in themselves.
        `redacted` is what is left out: "secrets", "payloads". `advertise` is the host that answers name instead of the
        brokers', by default the address that the client itself connected to. The ports for further brokers are
        `first_port` and those after it, by default free ones.
        """
        (self.upstream,) = addresses_of(kafka.bootstrap)
        self.server_name = kafka.security.tls.server_name if kafka.security.tls else ""
        self.tls = None if kafka.security.tls is None else context_of(kafka.security.tls)
        self._kafka = kafka
        self.listen = listen
        self.writer = writer
        self.redacted = redacted
        payloads = Payloads(os.urandom(32)) if PAYLOADS in redacted else None
        self.content = Content(secrets=SECRETS in redacted, payloads=payloads)
        self._advertise = advertise
        self._next_port = first_port
        self._ports: dict[Address, int] = {}
        self._warned: dict[str, None] = {}  # reasons to close connections that were logged
        self._opening = asyncio.Lock()
        self._servers: list[asyncio.Server] = []
        self._links: set[asyncio.Task[None]] = set()
        self._node_ids: dict[Address, int] = {}
        self._connections = 0
        self._counted: Counter[str] = Counter()
        self._not_understood: Counter[str] = Counter()
        self._has_failed = False
        self._began_s = time.monotonic()
        self.full = asyncio.Event()  # the file cannot be written any more

    async def start(self) -> Address:
        """Ask the upstream what it holds, then listen; where. Raises NoBroker, and OSError for the port."""
        from importlib.metadata import version

        self._began_s = time.monotonic()
        self._write(
            {
                "kind": "session",
                "schema_version": SCHEMA_VERSION,
                "upstream": str(self.upstream),
                "started_wall_ms": time.time_ns() // 1_000_000,
                "fakebroker": version("fakebroker"),
                "redacted": sorted(self.redacted),
            }
        )
        first = await self._open(self.upstream, self.listen.host, self.listen.port, is_serving=False)
        upstream = Upstream(self.upstream, self._kafka, self.content)
        async for line in from_thread(upstream.state()):
            if "problem" in line:
                self.warn(f"the upstream's {line['about']} could not be asked for: {line['problem']}")
            self._write({"kind": "state", "at_ms": self._now_ms(), **line})
        for node_id, address in upstream.brokers.items():
            self.learn(node_id, address)
        for address in upstream.also:
            self._node_ids.setdefault(self.upstream, self._node_ids[address])
            self._ports[address] = first
        await self._servers[0].start_serving()
        return Address(self.listen.host, first)

    async def stop(self, reason: str) -> None:
        """Close every connection and end the file."""
        for server in self._servers:
            server.close()
        for link in self._links:
            link.cancel()
        await asyncio.gather(*self._links, return_exceptions=True)
        self._write({"kind": "end", "at_ms": self._now_ms(), "reason": reason, "summary": self.summary()})
        self.writer.close()

    def summary(self) -> dict[str, Any]:
        """What was recorded, in numbers."""
        return {
            "connections": self._connections,
            "requests": self._counted["request"],
            "answers": self._counted["answer"],
            "not_understood": dict(sorted(self._not_understood.items())),
        }

    async def local_address(self, broker: Address, reached_at: str) -> Address:
        """Where clients find a broker here; `reached_at` is the host by which the client found the proxy.

        A port is opened when a broker is first asked for. Raises OSError if there is none.
        """
        async with self._opening:
            port = self._ports.get(broker)
            if port is None:
                wanted, self._next_port = self._next_port, self._next_port and self._next_port + 1
                port = await self._open(broker, self.listen.host, wanted or 0, is_serving=True)
                log.info("broker %s of the upstream is %s here", str(broker), port)
        return Address(self._advertise or reached_at, port)

    def learn(self, node_id: int, address: Address) -> None:
        """A broker's node id was seen beside its address."""
        self._node_ids[address] = node_id

    def warn(self, sentence: str) -> None:
        """Tell the person who records."""
        log.warning("%s", sentence)

    def tell(
        self,
        kind: str,
        link: Link,
        head: Head | None,
        version: int | None,
        frame: bytes,
        fields: Mapping[str, Any] | None,
    ) -> None:
        """Write the line of a request or an answer; `head` is the request's, `fields` None has the frame in pieces."""
        self._counted[kind] += 1
        is_understood = head is not None and head.api_key in APIS if fields is None else "message" in fields
        if not is_understood and (kind == "request" or (fields is not None and "problem" in fields)):
            self._not_understood["SASL token" if head is None else f"{head.api or head.api_key} v{version}"] += 1
        line = {
            "kind": kind,
            "at_ms": self._now_ms(),
            "connection": link.number,
            "node": self._node_ids.get(link.broker),
            "client": head and head.client_id,
            "correlation_id": head and head.correlation_id,
            "api": head and head.api,
            "api_key": head and head.api_key,
            "version": version,
            "size_bytes": len(frame),
        }
        if fields is None:
            self.writer.write_long(line, frame)
            self._notice_failure()
        else:
            self._write({**line, **fields})

    def tell_connected(self, link: Link, peer: str) -> None:
        """Write that a client connected."""
        line = {"kind": "connect", "at_ms": self._now_ms(), "connection": link.number}
        self._write({**line, "node": self._node_ids.get(link.broker), "address": peer, "upstream": str(link.broker)})

    def tell_closed(self, link: Link, by: str, reason: str) -> None:
        """Write that a connection is closed, by whom and why."""
        line = {"kind": "close", "at_ms": self._now_ms(), "connection": link.number}
        self._write({**line, "by": by, "reason": reason})
        if by == "proxy" and reason not in {RECORDING_ENDS, *self._warned} and len(self._warned) < _MAX_WARNINGS:
            self._warned[reason] = None
            self.warn(f"connection {link.number} closed: {reason}")

    async def _open(self, broker: Address, host: str, port: int, *, is_serving: bool) -> int:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._connections += 1
            task = asyncio.current_task()
            assert task is not None
            self._links.add(task)
            task.add_done_callback(self._links.discard)
            with suppress(asyncio.CancelledError):  # by `stop`; asyncio's streams would log it
                await Link(self, self._connections, (reader, writer), broker).run()

        server = await asyncio.start_server(
            accept, await _one_address(host), port, limit=_READ_AHEAD_BYTES, start_serving=is_serving
        )
        self._servers.append(server)
        self._ports[broker] = server.sockets[0].getsockname()[1]
        return self._ports[broker]

    def _now_ms(self) -> int:
        return int((time.monotonic() - self._began_s) * 1000)

    def _write(self, line: Mapping[str, Any]) -> None:
        self.writer.write(line)
        self._notice_failure()

    def _notice_failure(self) -> None:
        """Say once that the file cannot be written any more. Clients are served on: what they do is more important."""
        if self.writer.error is not None and not self._has_failed:
            self._has_failed = True
            log.error("the recording ends here, %s; clients are served on, unrecorded", self.writer.error)
            self.full.set()


async def _one_address(host: str) -> str:
    """The address to listen on: a name may stand for several, and a free port is free on one of them."""
    found = await asyncio.get_running_loop().getaddrinfo(host or "0.0.0.0", None, type=socket.SOCK_STREAM)
    return str(min(found, key=lambda one: one[0] != socket.AF_INET)[4][0])
