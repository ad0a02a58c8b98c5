"""Fifty members of one group, from nothing to a generation in which all of them have their assignment."""

import selectors
import time
from collections.abc import Callable
from typing import Any

from bench import requests as r
from bench.driver import Address, connect
from fakebroker.protocol.schema import Message
from fakebroker.protocol.wire.frame import decode_response

REBALANCE_IN_PROGRESS = 27


class _Member:
    """One connection that joins, syncs, heartbeats, and joins again when asked to."""

    def __init__(self, address: Address, group: str) -> None:
        self.sock = connect(address)
        self.group, self.member_id, self.generation = group, "", -1
        self.assigned_generation = -1
        self._buffer = b""
        self._asked = (-1, -1)
        self._on_answer: Callable[[Any], None] = self._on_join

    def join(self) -> None:
        self._send(r.join(self.group, self.member_id), r.JOIN, self._on_join)

    def receive(self) -> None:
        """Take one answer if it is whole, and send what a client would send next."""
        self._buffer += self.sock.recv(1 << 16)
        size = int.from_bytes(self._buffer[:4], "big")
        if len(self._buffer) < size + 4:
            return
        answer = decode_response(*self._asked, self._buffer[4 : size + 4])[1]
        self._buffer = self._buffer[size + 4 :]
        self._on_answer(answer)

    def _on_join(self, answer: Any) -> None:
        self.member_id, self.generation = answer.member_id, answer.generation_id
        if answer.error_code:
            self.join()
            return
        members = [m.member_id for m in answer.members]
        self._send(r.sync(self.group, self.generation, self.member_id, members), r.SYNC, self._on_sync)

    def _on_sync(self, answer: Any) -> None:
        if answer.error_code:
            self.join()
            return
        self.assigned_generation = self.generation
        self._heartbeat()

    def _on_heartbeat(self, answer: Any) -> None:
        if answer.error_code == REBALANCE_IN_PROGRESS:
            self.join()
        else:
            self._heartbeat()

    def _heartbeat(self) -> None:
        self._send(r.heartbeat(self.group, self.generation, self.member_id), r.HEARTBEAT, self._on_heartbeat)

    def _send(self, request: Message, version: int, on_answer: Callable[[Any], None]) -> None:
        self._asked, self._on_answer = (request.api_key, version), on_answer
        self.sock.sendall(r.frame(request, version))


def ms_to_stable(address: Address, group: str, members: int = 50) -> float:
    """Milliseconds from the first JoinGroup until all members hold an assignment of the same generation."""
    selector = selectors.DefaultSelector()
    everyone = [_Member(address, group) for _ in range(members)]
    for member in everyone:
        selector.register(member.sock, selectors.EVENT_READ, member)
    began = time.perf_counter()
    for member in everyone:
        member.join()
    while len({m.assigned_generation for m in everyone}) > 1 or everyone[0].assigned_generation < 0:
        for key, _ in selector.select(10):
            key.data.receive()
    elapsed_ms = (time.perf_counter() - began) * 1000
    for member in everyone:
        member.sock.close()
    return elapsed_ms
