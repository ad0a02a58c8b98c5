"""A snapshot: what a broker keeps durably at one moment, to be restored, written to a file, or forked.

before = broker.snapshot()
broker.clock.advance(days=8)
broker.restore(before)                                                  # eight days ago
with before.fork(config={"offsets.retention.minutes": 1440}) as other:  # the same history under another retention
    other.clock.advance(days=2)
before.save("incident.fakebroker"); Snapshot.load("incident.fakebroker")
"""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from fakebroker.broker.core.cluster_state import ClusterState, cluster_state, random_state
from fakebroker.protocol.arguments.checks import check
from fakebroker.protocol.arguments.kinds import PATH
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.protocol.short_errors import ShortErrors
from fakebroker.testing.literals import Profile, ReleaseName
from fakebroker.testing.snapshot.lost_commits import Commit, without_latest_commit
from fakebroker.testing.snapshot.state import BrokerState, ClockState, Options, texts

if TYPE_CHECKING:
    from fakebroker import AsyncFakeBroker, FakeBroker, VirtualBroker
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.broker.core.coordinator.loading import DecodedBatch
    from fakebroker.broker.engine.clock import BrokerClock
    from fakebroker.serve.net.ports import Ports


class Snapshot(ShortErrors):
    """The durable state of a broker at one moment, immutable and independent of the broker.

    Two snapshots are equal if all of their state is, including the time of day.
    """

    _has_powers = True

    def __init__(self, state: BrokerState, decoded: "dict[bytes, DecodedBatch] | None" = None) -> None:
        self.state = state
        self.decoded = {} if decoded is None else decoded  # filled by the first restore, so that others are faster

    @property
    def taken(self) -> datetime:
        """The broker's time of day when it was taken, in UTC."""
        return datetime.fromtimestamp(self.state.clock.wall_ms / 1000, UTC)

    @property
    def topics(self) -> list[str]:
        """The names of its topics, internal ones included, in the order of their creation."""
        return [topic.name for topic in self.state.cluster.topics]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, atomically. Raises OSError."""
        path = os.fspath(path)
        unfinished = f"{path}.open"
        try:
            with open(unfinished, "wb") as file:
                file.write(self.to_bytes())
            os.replace(unfinished, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(unfinished)
            raise

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Snapshot":
        """Read a file that `save` has written.

        Raises OSError, and InvalidArgument for a file that is not a snapshot, is truncated or damaged, or was written
        by a newer fakebroker.
        """
        check("path", path, PATH)
        with open(path, "rb") as file:
            return cls.from_bytes(file.read(), os.fspath(path))

    @classmethod
    def from_data(
        cls, *directories: str | os.PathLike[str], on_problem: Callable[[str], None] | None = None
    ) -> "Snapshot":
        """Read copies of the data directories (`log.dirs`) of a Kafka in KRaft mode: of one broker, or of several.

        Nothing in them is changed. The time of day is that at which the Kafka was stopped. Settings of
        `server.properties` are not there: `fork(config=...)` sets them. `on_problem` gets a sentence about each file
        that cannot be used; by default it is logged.

        Raises InvalidArgument for directories that are none of Kafka, of several clusters, of a newer release, or
        damaged; Unavailable while a broker runs on one.
        """
        from fakebroker.testing.copied_data.copied_cluster import CopiedCluster

        for directory in directories:
            check("directories", directory, PATH)
        copied = CopiedCluster(directories)
        cluster, release, node_ids, written_ms = copied.read()
        for problem in copied.problems:
            (on_problem or _log_problem)(problem)
        options = Options({}, "kafka", release, 0, node_ids)
        return cls(BrokerState(options, ClockState(written_ms, 1.0, False), cluster))

    def to_bytes(self) -> bytes:
        """The content of the file that `save` writes."""
        from fakebroker.testing.snapshot.file_format import encode

        return encode(self.state)

    @classmethod
    def from_bytes(cls, content: bytes, source: str = "the snapshot") -> "Snapshot":
        """Read the result of `to_bytes`; `source` names it in errors. Raises InvalidArgument as `load` does."""
        from fakebroker.testing.snapshot.checks import what_is_wrong
        from fakebroker.testing.snapshot.file_format import decode

        state = decode(content, source)
        wrong = what_is_wrong(state)
        if wrong is not None:
            raise InvalidArgument("path", source, f"{source} is damaged: {wrong}")
        return cls(state)

    def fork(
        self,
        *,
        config: Mapping[str, object] | None = None,
        as_release: ReleaseName | None = None,
        seed: int | None = None,
        profile: Profile | None = None,
        lost_commits: Sequence[Commit] = (),
        listen: "str | Sequence[str] | Ports | None" = None,
        advertise: str | Sequence[str] | None = None,
    ) -> "FakeBroker":
        """A new broker with the same history, on its own ports; not started yet.

        `config`, `as_release`, `seed` and `profile` override those of the snapshot. `lost_commits` are (group, topic,
        partition): the latest commit of each is undone, and the previous one applies; a duplicate undoes two. `listen`
        and `advertise` are as for FakeBroker.

        Raises InvalidArgument, UnknownThing for an unknown commit, SettingError, UnknownRelease.
        """
        from fakebroker import FakeBroker

        fork = self._changed(config, as_release, seed, profile, lost_commits)
        broker = FakeBroker(**fork._arguments(), listen=listen, advertise=advertise)
        broker.restore(fork)
        return broker

    def async_fork(
        self,
        *,
        config: Mapping[str, object] | None = None,
        as_release: ReleaseName | None = None,
        seed: int | None = None,
        profile: Profile | None = None,
        lost_commits: Sequence[Commit] = (),
        listen: "str | Sequence[str] | Ports | None" = None,
        advertise: str | Sequence[str] | None = None,
        **options: Any,
    ) -> "AsyncFakeBroker":
        """The same as an AsyncFakeBroker; `options` are others of its options."""
        from fakebroker import AsyncFakeBroker

        fork = self._changed(config, as_release, seed, profile, lost_commits)
        broker = AsyncFakeBroker(**fork._arguments(), listen=listen, advertise=advertise, **options)
        broker.restore(fork)
        return broker

    def virtual_fork(
        self,
        *,
        config: Mapping[str, object] | None = None,
        as_release: ReleaseName | None = None,
        seed: int | None = None,
        profile: Profile | None = None,
        lost_commits: Sequence[Commit] = (),
    ) -> "VirtualBroker":
        """The same as a VirtualBroker, which serves at once: time passes only when the test lets it."""
        from fakebroker import VirtualBroker

        fork = self._changed(config, as_release, seed, profile, lost_commits)
        broker = VirtualBroker(**fork._arguments())
        broker.restore(fork)
        return broker

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Snapshot) and self.state == other.state

    __hash__ = None  # type: ignore[assignment]  # it holds dictionaries

    def __repr__(self) -> str:
        return f"<snapshot of {self.taken:%Y-%m-%d %H:%M:%S}, {len(self.topics)} topics>"

    def _arguments(self) -> dict[str, Any]:
        """The arguments of a broker class that make a broker for it."""
        options = self.state.options
        return {
            "nodes": len(options.node_ids),
            "node_id": options.node_ids[0],
            "racks": options.racks,
            "config": options.config,
            "seed": options.seed,
            "profile": options.profile,
            "as_release": options.as_release,
        }

    def _changed(
        self,
        config: Mapping[str, object] | None,
        as_release: str | None,
        seed: int | None,
        profile: str | None,
        lost_commits: Sequence[Commit],
    ) -> "Snapshot":
        """The snapshot of a broker to which these differences apply."""
        options, changes, cluster = self.state.options, texts(config or {}), self.state.cluster
        for commit in lost_commits:
            cluster = without_latest_commit(cluster, commit)
        if seed is not None:
            cluster = cluster._replace(random=random_state(seed))
        options = options._replace(
            config=options.config | changes,
            as_release=options.as_release if as_release is None else as_release,
            seed=options.seed if seed is None else seed,
            profile=options.profile if profile is None else profile,
        )
        return Snapshot(self.state._replace(options=options, cluster=_without_dynamic(cluster, changes)), self.decoded)


def _log_problem(problem: str) -> None:
    logging.getLogger("fakebroker").warning("%s", problem)


def take(options: Options, cluster: "Cluster", clock: "BrokerClock") -> Snapshot:
    """A snapshot of a broker as it is now; to be called where its engine runs."""
    reading = ClockState(clock.now().wall_ms, clock.rate, clock.is_frozen)
    return Snapshot(BrokerState(options, reading, cluster_state(cluster)))


def _without_dynamic(cluster: ClusterState, changes: Mapping[str, str]) -> ClusterState:
    """Settings that differ in a fork are not hidden by what was set at run time."""

    def others(dynamic: Mapping[str, str]) -> dict[str, str]:
        return {name: text for name, text in dynamic.items() if name not in changes}

    nodes = tuple([node._replace(dynamic=others(node.dynamic)) for node in cluster.nodes])
    return cluster._replace(dynamic=others(cluster.dynamic), nodes=nodes)
