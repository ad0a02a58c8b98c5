"""When recorded brokers were away: one closes its connections, nobody can reach it, then it answers again."""

from dataclasses import dataclass, field

from fakebroker.testing.exchanges.messages import Line

_AT_ONCE_MS = 2_000  # in which a broker that stops closes its connections


@dataclass
class Outages:
    """The lines of a session before which a broker stopped, and those before which it was back."""

    stops: dict[int, int] = field(default_factory=dict)  # line -> broker
    starts: dict[int, int] = field(default_factory=dict)
    times_ms: dict[int, float] = field(default_factory=dict)  # of these lines
    _brokers: dict[int, tuple[int, float, int | None]] = field(default_factory=dict)  # by connection
    _closing: dict[int, tuple[int, float]] = field(default_factory=dict)  # broker -> line and time of the first close
    _away: dict[int, None] = field(default_factory=dict)

    def connected(self, number: int, line: Line) -> None:
        """Somebody connects; whether that reaches the broker its answers tell."""
        self._brokers[line["connection"]] = number, line["at_ms"], line["node"]

    def closed(self, number: int, line: Line) -> None:
        """A connection ends."""
        _, _, broker = self._brokers.pop(line["connection"], (0, 0, None))
        if broker is None or line["by"] != "upstream" or broker in self._away:
            return
        first, first_ms = self._closing.get(broker, (number, line["at_ms"]))
        if line["at_ms"] - first_ms > _AT_ONCE_MS:
            first, first_ms = number, line["at_ms"]
        self._closing[broker] = first, first_ms
        if "cannot be reached" in line["reason"]:
            self._away[broker] = None
            self.stops[first] = broker
            self.times_ms[first] = first_ms

    def answered(self, line: Line) -> None:
        """A broker that answers was there when this connection was made."""
        number, at_ms, broker = self._brokers.get(line["connection"], (0, 0, None))
        if broker is not None and broker in self._away:
            del self._away[broker]
            self._closing.pop(broker, None)
            self.starts[number] = broker
            self.times_ms[number] = at_ms
