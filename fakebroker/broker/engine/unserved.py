"""What clients ask for in vain: a warning for each client and API, so that nobody waits for ever without a hint.

Most clients read ApiVersions and raise an error of their own for an API that is not listed (librdkafka's admin client
does for ACLs). One does not: where a release before KIP-848 is simulated, a librdkafka consumer with
group.protocol=consumer finds its coordinator, drops the new connection when it sees no ConsumerGroupHeartbeat in
ApiVersions, connects once more and then says nothing, to nobody.
"""

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.engine.journal import Peer
from fakebroker.broker.engine.printable import printable
from fakebroker.protocol.errors import WireError
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.frame import client_id_of
from fakebroker.protocol.wire.framing import guess_protocol
from fakebroker.protocol.wire.registry import APIS

if TYPE_CHECKING:
    from fakebroker.broker.apis.call import Call
    from fakebroker.broker.engine.engine import Engine

MAX_WARNINGS = 100
MAX_JUDGED = 100
MAX_VERSION = 1_000  # of an API, in whatever release: two characters make 8,000 at least
SUSPICIOUS_LOOKUPS = 3  # a librdkafka consumer that does nothing makes two
SILENCE_MS = 3_000  # a client that wants something of its coordinator asks at once

# Before the client knows that the coordinator is of no use.
_ASKED_OF_A_COORDINATOR = frozenset({ApiKey.API_VERSIONS, ApiKey.METADATA})
# Produce may come from another client of the same name; what a consumer asks for when it goes on is not in here.
_ASKED_BY_A_STUCK_CONSUMER = _ASKED_OF_A_COORDINATOR | {
    ApiKey.PRODUCE,
    ApiKey.FIND_COORDINATOR,
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.INIT_PRODUCER_ID,
}

_NEW_GROUPS = "the emulated release does not support KIP-848; use group.protocol=classic"

# Every API of Kafka 4.3 that we have no messages for, with its name. Brokers and controllers speak these only.
MISSING: dict[int, str] = {int(key): key.api_name for key in ApiKey if key not in APIS}
WHY_MISSING = "only brokers and controllers use it"

log = logging.getLogger("fakebroker")


def who(client_id: str | None, peer: Peer) -> str:
    """A client for people: 'client "svc-1" (127.0.0.1:50412)'; only the address of one that has not named itself."""
    return peer.address if client_id is None else f'client "{printable(client_id)}" ({peer.address})'


class Unserved:
    """The warnings of one engine. `lines` are those given so far, for the story of a failed test."""

    def __init__(self, engine: "Engine") -> None:
        self.lines: list[str] = []
        self._engine = engine
        self._warned: set[tuple[str | None, int]] = set()
        self._lookups: dict[str | None, int] = {}  # by client id, how often it asked for a coordinator

    def warn(self, client_id: str | None, peer: Peer, api_key: int, what: str) -> None:
        """`what` is a clause that begins with the API's name; warned of once for each client id and API."""
        line = f"{who(client_id, peer)} asked for {what}"
        if self._is_news(client_id, api_key):
            log.warning("%s", line)
            self.lines.append(line)

    def refused(self, call: "Call", peer: Peer, frame: bytes, reason: str) -> str:
        """The connection of `call` is to be closed, because nothing serves this frame. Returns what to log: the
        `reason`, and what else but Kafka's protocol the frame looks like.

        The client is named if the frame has the head of a request of Kafka's, of whatever release. In the place of the
        client id of anything else might be a part of a password.
        """
        other_protocol = guess_protocol(frame)
        if not other_protocol:
            api_key, version = (int.from_bytes(frame[at : at + 2], "big", signed=True) for at in (0, 2))
            if (api_key in APIS or api_key in MISSING) and 0 <= version <= MAX_VERSION:
                with suppress(WireError):
                    call.client_id = client_id_of(frame)
            self.closed(call.client_id, peer, api_key, reason)
        return f"{reason}{other_protocol}"

    def closed(self, client_id: str | None, peer: Peer, api_key: int, reason: str) -> None:
        """A connection was closed, with a log line of its own, for an API or version that is not served."""
        if self._is_news(client_id, api_key):
            self.lines.append(f"{who(client_id, peer)}: {reason}")

    def looked_up(self, client_id: str | None, peer: Peer, group_id: str) -> None:
        """A client got the coordinator of a group; one that then stays silent is warned of in `SILENCE_MS`.

        Each client id is judged once, and the first `MAX_JUDGED` only: it takes a look at the whole journal.
        """
        count = self._lookups.get(client_id, 0) + 1
        if count > SUSPICIOUS_LOOKUPS or (count == 1 and len(self._lookups) >= MAX_JUDGED):
            return
        self._lookups[client_id] = count
        if count == SUSPICIOUS_LOOKUPS:
            check = Deadline(lambda _now: self._judge(client_id, peer, group_id))
            self._engine.cluster.timers.mono.arm(check, self._engine.now.mono_ms + SILENCE_MS)

    def _is_news(self, client_id: str | None, api_key: int) -> bool:
        if len(self._warned) >= MAX_WARNINGS or (client_id, api_key) in self._warned:
            return False
        self._warned.add((client_id, api_key))
        return True

    def _judge(self, client_id: str | None, peer: Peer, group_id: str) -> None:
        """Warn of a client that dropped a connection on which it read only ApiVersions, and asked for nothing that a
        consumer would go on with.
        """
        if self._has_parked(client_id):
            return
        asked: dict[int, set[int]] = {}  # by connection, the API keys
        for connection_id, api_key in self._engine.journal.asked_by(client_id):
            asked.setdefault(connection_id, set()).add(api_key)
        if any(not keys <= _ASKED_BY_A_STUCK_CONSUMER for keys in asked.values()):
            return
        if any(keys <= _ASKED_OF_A_COORDINATOR for each, keys in asked.items() if each not in self._engine.connections):
            self.warn(
                client_id,
                peer,
                ApiKey.CONSUMER_GROUP_HEARTBEAT,
                f'FindCoordinator of group "{printable(group_id)}" several times and then for nothing of that group, '
                "as librdkafka does with group.protocol=consumer when ApiVersions lacks ConsumerGroupHeartbeat"
                f": {_NEW_GROUPS}; the client will wait forever",
            )

    def _has_parked(self, client_id: str | None) -> bool:
        calls = (connection.parked_call for connection in self._engine.connections.values())
        return any(call is not None and call.client_id == client_id for call in calls)
