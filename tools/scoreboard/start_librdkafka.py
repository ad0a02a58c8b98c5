"""Start librdkafka's mock cluster of one broker, through confluent-kafka.

    python -m tools.scoreboard.start_librdkafka PORT

The mock listens on a port of its own choosing; PORT is forwarded to it. It has no settings, so this takes none.
"""

import re
import signal
import socket
import sys
import threading
from contextlib import suppress
from types import FrameType

from confluent_kafka import Producer

HOST = "127.0.0.1"
METADATA_S = 10
_BYTES = 1 << 16


def main(port: str) -> None:
    """Serve until SIGTERM."""
    signal.signal(signal.SIGTERM, _end)
    owner = Producer({"test.mock.num.brokers": 1, "log_level": 0})
    addresses = [(broker.host, broker.port) for broker in owner.list_topics(timeout=METADATA_S).brokers.values()]
    with socket.create_server((HOST, int(port))) as listening:
        while True:
            client, _ = listening.accept()
            mock = socket.create_connection(addresses[0])
            for source, target in ((client, mock), (mock, client)):
                source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=_forward, args=(source, target), daemon=True).start()


def _forward(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_BYTES):
            target.sendall(data)
    for each in (source, target):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


def _end(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


def librdkafka_version() -> str:
    """The version of librdkafka that confluent-kafka brings."""
    import confluent_kafka

    return re.sub(r"[^\d.].*", "", confluent_kafka.libversion()[0])


if __name__ == "__main__":
    main(sys.argv[1])
