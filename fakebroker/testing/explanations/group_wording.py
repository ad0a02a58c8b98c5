"""Requests of members of consumer, share and streams groups in words, and what became of them.

A heartbeat is described by its epoch, which says most: 0 joins, -1 leaves, -2 leaves temporarily.
"""

from collections.abc import Sized
from typing import Any

from fakebroker.broker.engine.printable import printable
from fakebroker.protocol.schema import Message

NOTHING_ACQUIRED = "nothing acquired"
HEARTBEATS = frozenset({"ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat"})
_EPOCHS = {0: "joins", -1: "leaves", -2: "leaves temporarily"}


def member_text(api: str, request: Any) -> str:
    """What a request says of its member: "as a new member", "joins", "epoch 3, owns 2"; "" for other requests."""
    if api == "JoinGroup" and request is not None:
        return f"as {printable(request.member_id)}" if request.member_id else "as a new member"
    return heartbeat_text(api, request)


def heartbeat_text(api: str, request: Message | None) -> str:
    """What a heartbeat says: "joins", "epoch 3", "epoch 3, owns 2"; "" for other requests."""
    if api not in HEARTBEATS or request is None:
        return ""
    epoch: int = request.member_epoch  # type: ignore[attr-defined]
    text = _EPOCHS.get(epoch, f"epoch {epoch}")
    owned = _owned(request)
    return text if owned is None or epoch <= 0 else f"{text}, owns {owned}"


def fine_text(api: str, response: Any) -> str:
    """What an answer without error gives a member: "ok, epoch 3, has 2"; "" for other answers."""
    if api in HEARTBEATS:
        text = f"ok, epoch {response.member_epoch}" if response.member_epoch >= 0 else "ok"
        assigned = _assigned(response)
        return text if assigned is None else f"{text}, assigned {assigned}"
    if api == "ShareFetch":
        acquired = any(data.acquired_records for topic in response.responses for data in topic.partitions)
        return "" if acquired else NOTHING_ACQUIRED
    if api == "JoinGroup":
        leads = f", leads {len(response.members)}" if response.leader == response.member_id else ""
        return f"ok, generation {response.generation_id}{leads}"
    return ""


def _owned(request: Any) -> int | None:
    """How many partitions or tasks the member says it owns; None if it says nothing of them."""
    return _count(getattr(request, "topic_partitions", None), getattr(request, "active_tasks", None))


def _assigned(response: Any) -> int | None:
    assignment = getattr(response, "assignment", None)
    rows = None if assignment is None else assignment.topic_partitions
    return _count(rows, getattr(response, "active_tasks", None))


def _count(partitions: Any, tasks: Any) -> int | None:
    rows = partitions if partitions is not None else tasks
    if rows is None:
        return None
    lists: list[Sized] = [row.partitions for row in rows]
    return sum(map(len, lists))
