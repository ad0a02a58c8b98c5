"""Many connections: how fast they are taken up, and what each keeps in memory.

    python -m bench.connections

Each connection asks for the broker's API versions and then stays, with nothing to do. A thousand at a time connect, and
the rate of each thousand shows whether the number of those that are there already matters.
"""

import resource
import selectors
import socket
import time
from struct import pack
from typing import Any

from bench import requests as r
from bench.driver import Address
from bench.rows import line, section
from bench.targets import fakebroker
from fakebroker.protocol.wire.messages.api_versions import ApiVersionsRequest

STEPS = (1_000, 5_000, 10_000)
BATCH = 1_000
AT_ONCE = 100
GOAL_BYTES = 10_000
_FLAT = 0.75  # of the first thousand's rate; less than that is not noise
_RESET = pack("ii", 1, 0)  # no port waits for a minute after its connection


def connected(address: Address, count: int) -> list[socket.socket]:
    """So many connections, each of which has had an answer."""
    request = r.frame(ApiVersionsRequest(), 0)
    made: list[socket.socket] = []
    while len(made) < count:
        selector = selectors.DefaultSelector()
        for _ in range(min(AT_ONCE, count - len(made))):
            sock = socket.create_connection(address, 10)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            sock.sendall(request)
            selector.register(sock, selectors.EVENT_READ)
            made.append(sock)
        waiting = len(selector.get_map())
        while waiting:
            for key, _ in selector.select(10):
                assert isinstance(key.fileobj, socket.socket)
                assert key.fileobj.recv(65_536), "the broker closed the connection"
                selector.unregister(key.fileobj)
                waiting -= 1
        selector.close()
    return made


def rows() -> list[str]:
    """A row for each of `STEPS`: the rate of the last thousand, and bytes per connection since the first."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # the broker inherits it
    broker = fakebroker()
    table: list[str] = []
    held: list[Any] = []
    first_rate = 0.0
    try:
        for sock in connected(broker.address, AT_ONCE):
            sock.close()
        time.sleep(2.5)  # what it imports after its first clients is no connection's
        before_mb = broker.rss_mb()
        for step in (step for step in STEPS if step + 200 < most):
            while len(held) < step:
                began = time.perf_counter()
                held += connected(broker.address, BATCH)
                rate = BATCH / (time.perf_counter() - began)
                first_rate = first_rate or rate
            each = (broker.rss_mb() - before_mb) * 1e6 / step
            flat = "flat" if rate >= _FLAT * first_rate else "NOT FLAT"
            good = "met" if each <= GOAL_BYTES else "MISSED"
            table.append(line([f"{step:,}", f"{rate:,.0f}", flat, f"{each:,.0f}", f"{GOAL_BYTES:,} {good}"]))
    finally:
        for sock in held:
            sock.close()
        broker.stop()
    return table


def report() -> str:
    """The page's section."""
    header = ["connections", "connects/s of the last thousand", "beside the first", "bytes each", "goal"]
    return section("Connections", header, rows())


if __name__ == "__main__":
    print(report())
