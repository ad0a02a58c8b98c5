"""The brokers of a pair: one that runs at HOST:PORT, or one of the scoreboard's, started for the play."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from fakebroker.protocol.errors import Unavailable
from fakebroker.protocol.listeners import Address
from fakebroker.scenarios.conformance.broker_command import BrokerCommand
from tools.scoreboard.targets import TARGETS, TARGETS_2_1, TARGETS_3_9, Target

NAMED: Final[Mapping[str, Target]] = {target.name: target for target in (*TARGETS, *TARGETS_3_9, *TARGETS_2_1)}
START_LIMIT_S = 90

# Sessions end only where a chapter lets them; nothing is put off, so that a history takes milliseconds.
_SETTINGS = {
    "group.min.session.timeout.ms": "1",
    "group.initial.rebalance.delay.ms": "0",
    "auto.create.topics.enable": "false",
    "log.retention.ms": "-1",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
}
_OF_NEW_GROUPS = {
    "group.coordinator.append.linger.ms": "0",
    "share.coordinator.append.linger.ms": "0",
    **{
        f"group.{kind}.{name}": value
        for kind in ("consumer", "share", "streams")
        for name, value in (
            ("assignment.interval.ms", "0"),
            ("min.assignment.interval.ms", "0"),
            ("min.session.timeout.ms", "500"),
            ("max.session.timeout.ms", "1000000"),
            ("session.timeout.ms", "100000"),
            ("min.heartbeat.interval.ms", "100"),
            ("heartbeat.interval.ms", "500"),
        )
    },
    "group.share.min.record.lock.duration.ms": "1000",
    "group.streams.initial.rebalance.delay.ms": "0",
}
_OF_KFAKE = ("group.min.session.timeout.ms", "group.initial.rebalance.delay.ms", "log.retention.ms")


@dataclass(frozen=True)
class Running:
    """A broker that runs: where, what it is, its version, and the settings that it was started with."""

    address: Address
    title: str
    version: str = ""
    settings: Mapping[str, str] | None = None
    control: Callable[[str, int], None] | None = None  # stops, kills or restarts a node

    def __str__(self) -> str:
        return self.title if self.version in self.title else f"{self.title} {self.version}"


@contextmanager
def running(name: str, *, is_restarted: bool = False) -> Iterator[Running]:
    """The broker at HOST:PORT, or one that is started and ended with the block. `is_restarted` asks for `control`.

    Raises Unavailable, saying why it cannot be started, and ValueError for a name that no broker has.
    """
    host, _, port = name.rpartition(":")
    if port.isdigit() and is_restarted:
        raise Unavailable(f"{name}: only brokers that are started for the play are restarted")
    if port.isdigit():
        yield Running(Address(host, int(port)), name)
        return
    if name not in NAMED:
        raise ValueError(f"{name}: no broker; give HOST:PORT or one of {', '.join(NAMED)}")
    target = NAMED[name]
    if why := target.why_not():
        raise Unavailable(f"{target.title}: {why}")
    if is_restarted and not target.restartable:
        raise Unavailable(f"{target.title} cannot be restarted here")
    settings = settings_of(target)
    command = BrokerCommand(
        target.restartable if is_restarted else target.command,
        START_LIMIT_S,
        target.control_command if is_restarted else "",
    )
    with command.running(settings) as started:
        yield Running(started.access.address, target.title, target.version(), settings, started.control)


def settings_of(target: Target) -> dict[str, str]:
    """The settings of the play that it knows."""
    if target.name == "kfake":
        return {name: _SETTINGS[name] for name in _OF_KFAKE}
    return _SETTINGS | (_OF_NEW_GROUPS if target.release == "4.3" and "3.9" not in target.name else {})
