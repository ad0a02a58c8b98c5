"""Fifty members of one group, from nothing to a generation in which all of them have their assignment."""

import selectors
import time

from fakebroker.wire.frame import decode_response
from tests.bench.cases import request, struct
from tests.bench.driver import Address, connect, frame

REBALANCE_IN_PROGRESS = 27


class _Member:
    """One connection that joins, syncs, heartbeats, and joins again when told."""

    def __init__(self, address: Address, group: str) -> None:
        self.sock = connect(address)
        self.group, self.member_id, self.generation = group, "", -1
        self.assigned_generation = -1
        self._buffer = b""
        self._awaited = ""

    def join(self) -> None:
        protocol = struct("JoinGroup", "JoinGroupRequestProtocol", name="range", metadata=b"\0\0\0\0\0\0\xff\xff\xff\xff")
        self._send("JoinGroup", 3, member_id=self.member_id, session_timeout_ms=30_000, rebalance_timeout_ms=30_000,
                   protocol_type="consumer", protocols=[protocol])  # fmt: skip

    def receive(self) -> None:
        """Take one answer if it is whole, and send what a client would send next."""
        self._buffer += self.sock.recv(1 << 16)
        size = int.from_bytes(self._buffer[:4], "big")
        if len(self._buffer) < size + 4:
            return
        version = {"JoinGroup": 3, "SyncGroup": 2, "Heartbeat": 2}[self._awaited]
        answer = decode_response(request(self._awaited).api_key, version, self._buffer[4 : size + 4])[1]
        self._buffer = self._buffer[size + 4 :]
        getattr(self, f"_on_{self._awaited.lower()}")(answer)

    def _on_joingroup(self, answer: object) -> None:
        self.member_id, self.generation = answer.member_id, answer.generation_id
        if answer.error_code:
            self.join()
            return
        entries = [struct("SyncGroup", "SyncGroupRequestAssignment", member_id=m.member_id, assignment=b"x") for m in answer.members]
        self._send("SyncGroup", 2, generation_id=self.generation, member_id=self.member_id, assignments=entries)

    def _on_syncgroup(self, answer: object) -> None:
        if answer.error_code:
            self.join()
            return
        self.assigned_generation = self.generation
        self._heartbeat()

    def _on_heartbeat(self, answer: object) -> None:
        if answer.error_code == REBALANCE_IN_PROGRESS:
            self.join()
        else:
            self._heartbeat()

    def _heartbeat(self) -> None:
        self._send("Heartbeat", 2, generation_id=self.generation, member_id=self.member_id)

    def _send(self, name: str, version: int, **fields: object) -> None:
        self._awaited = name
        self.sock.sendall(frame(request(name, group_id=self.group, **fields), version))


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


