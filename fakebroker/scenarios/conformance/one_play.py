"""Playing one case once against a broker, within a time limit."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Event

from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.scenarios.conformance.access import Access
from fakebroker.scenarios.conformance.cases import Case
from fakebroker.scenarios.dialogue.node_ids import RECORDED
from fakebroker.scenarios.dialogue.player import Player
from fakebroker.scenarios.dialogue.run import Outcome, internal

SPARE_S = 60  # how much longer than recorded a case may take
_PIECE_MS = 500  # how often a wait looks whether it is to end


class OutOfTime(FakebrokerError):
    """A case took longer than it may, or the run is to end."""


class LimitedDriver(TcpDriver):
    """A driver that ends every wait when `limit` says."""

    def limit(self, limit_s: float, is_over: Event) -> None:
        """End every wait when that time is over, or when `is_over` is set."""
        self._limit_s, self._deadline_s = limit_s, time.monotonic() + limit_s
        self._is_over = is_over

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


@dataclass(frozen=True)
class Playing:
    """How cases are played on one broker.

    Attributes:
        access: How it is reached.
        versions: What it serves, by API name; requests that set a case up are sent in these.
        node_id: The id of a single broker.
        slack: A factor on the tolerance of waits.
        is_over: Set when the run is to end.
        control: Stops and starts brokers: control(operation, node_id).
    """

    access: Access
    versions: Mapping[str, tuple[int, int]]
    node_id: int = RECORDED
    slack: float = 1.0
    is_over: Event = field(default_factory=Event)
    control: Callable[[str, int], None] | None = None

    def play(self, case: Case, tag: str) -> Outcome:
        """Play a case whose names get this tag. What goes wrong is a problem of the outcome; nothing is raised."""
        start_ns = time.monotonic_ns()
        driver = LimitedDriver.secured(*self.access, self.slack, self.control)
        driver.limit(case.usual_ms / 1000 + SPARE_S, self.is_over)
        node_id = self.node_id if case.dialogue.nodes == 1 else RECORDED
        player = Player(driver, tag, self.versions, node_id)
        try:
            problems = player.play(case.dialogue)
        except Exception as error:  # a bug of ours, or an answer that breaks the player: one case, not the run
            problems = [internal(error)]
        finally:
            driver.close_all()
        return Outcome(case.dialogue, problems, (time.monotonic_ns() - start_ns) // 1_000_000, player.was_late)
