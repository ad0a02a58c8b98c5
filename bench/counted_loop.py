"""Cases over sockets: many clients of which each waits for its answer, in the loop of a broker that is served.

Broker and clients share one thread, and no turn ends by the clock, so that in every run each look at the sockets finds
the same ones ready, however slow the machine is. What the clients' own `send` and `recv` cost is counted alone, in the
case that is named after it, and bench/instructions.py takes it away.
"""

import asyncio
import socket
from collections.abc import Callable
from typing import NamedTuple

from bench import requests as r
from fakebroker import AsyncFakeBroker
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.frame import decode_response
from fakebroker.serve.net import loop, preload, server

CLIENTS = 64
ROUNDS = 12  # with N requests
GROUP = "bench"
HEARTBEAT_LOOP, CLIENTS_ALONE = "Heartbeat, closed loop of 64", "what 64 clients cost themselves"


class Case(NamedTuple):
    """N requests in rounds of one for each client."""

    name: str
    run: Callable[[Callable[[], None]], int]


def heartbeats(mark: Callable[[], None]) -> int:
    """Rounds of one Heartbeat for each client, all of one member; returns N."""
    preload.FIRST_AFTER_S = 3600.0  # nothing is imported while we count
    for module in (loop, server):
        vars(module)["STEP_S"] = 3600.0
    with asyncio.Runner(loop_factory=loop.new_event_loop) as runner:
        runner.run(_heartbeats(mark))
    return CLIENTS * ROUNDS


async def _heartbeats(mark: Callable[[], None]) -> None:
    async with AsyncFakeBroker() as broker:
        host, port = broker.bootstrap.split(":")
        clients = [socket.create_connection((host, int(port))) for _ in range(CLIENTS)]
        for client in clients:
            client.setblocking(False)
        (joined,) = await ask(clients[:1], [r.frame(r.join(GROUP, ""), r.JOIN, 0)])
        member_id = decode_response(ApiKey.JOIN_GROUP, r.JOIN, joined[4:])[1].member_id
        await ask(clients[:1], [r.frame(r.sync(GROUP, 1, member_id, [member_id]), r.SYNC, 0)])
        beat = r.heartbeat(GROUP, 1, member_id)
        rounds = [
            [r.frame(beat, r.HEARTBEAT, number * CLIENTS + client) for client in range(CLIENTS)]
            for number in range(4 + 3 * ROUNDS)
        ]
        for part in (rounds[:4], rounds[4 : 4 + ROUNDS], rounds[4 + ROUNDS :]):
            for requests in part:
                answers = await ask(clients, requests)
            mark()
        assert all(answer[8:] == bytes(6) for answer in answers), answers  # throttled 0 ms, no error
        for client in clients:
            client.close()


async def ask(clients: list[socket.socket], requests: list[bytes]) -> list[bytes]:
    """Send each client's request, let the loop go round until the last is answered, take all answers."""
    for client, request in zip(clients, requests, strict=True):
        client.send(request)
    while True:
        await asyncio.sleep(0)
        try:
            last = clients[-1].recv(4096)
            break
        except BlockingIOError:
            pass
    return [client.recv(4096) for client in clients[:-1]] + [last]


def clients_alone(mark: Callable[[], None]) -> int:
    """As many `send` and `recv` of 64 sockets: both ends of a pair do the same here, so N is twice as much."""
    pairs = [socket.socketpair() for _ in range(CLIENTS)]
    requests = [r.frame(r.heartbeat(GROUP, 1, "m" * 40), r.HEARTBEAT, 0)] * CLIENTS
    for rounds in (4, ROUNDS, 2 * ROUNDS):
        for _ in range(rounds):
            for side in (0, 1):
                for pair, request in zip(pairs, requests, strict=True):
                    pair[side].send(request)
                for pair in pairs:
                    pair[1 - side].recv(4096)
        mark()
    return 2 * CLIENTS * ROUNDS


LOOP_CASES = [Case(HEARTBEAT_LOOP, heartbeats), Case(CLIENTS_ALONE, clients_alone)]
