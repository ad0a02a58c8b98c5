"""What a broker with a data directory does with it from its start to its end."""

import logging
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from fakebroker.broker.core.cluster_state import load_coordinators
from fakebroker.broker.engine.clock import BrokerClock
from fakebroker.broker.release import Release
from fakebroker.broker.settings import Settings
from fakebroker.protocol.instant import Instant
from fakebroker.serve.storage.cluster_loading import load_cluster, newest_record_ms
from fakebroker.serve.storage.cluster_store import ClusterStore, LostReplica
from fakebroker.serve.storage.data_directory import DataDirectory
from fakebroker.serve.storage.disk import cause
from fakebroker.serve.storage.log_directory import unusable, wrong

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster

log = logging.getLogger("fakebroker")


class BrokerStorage:
    """A data directory and the cluster that is kept in it: the first one, or after `replace` another.

    The directory is locked from the first cluster to `stop`, and again from `resume` on.
    """

    def __init__(self, path: str | os.PathLike[str], node_ids: Sequence[int]) -> None:
        self._data = DataDirectory(path, node_ids)
        self._store: ClusterStore | None = None
        self._sizes: list[int] = []  # of the metadata logs at the stop
        self.on_failure: Callable[[str], None] = lambda _reason: None  # called when no broker has a directory any more

    def begin(
        self,
        settings: Settings,
        release: Release,
        seed: int,
        clock: BrokerClock,
        make: Callable[[], "Cluster"],
        add_options: Callable[["Cluster"], None],
    ) -> "Cluster":
        """The cluster of the directory, or a new one that `make` makes if the directory is empty.

        `add_options` adds users and ACLs that the broker's options name. The clock is moved forwards if it is behind
        the newest record. Raises InvalidArgument; then nothing is locked.
        """
        self._data.open()
        try:
            if not self._data.cluster_id:
                cluster = make()
                add_options(cluster)
                self._create(cluster, clock.now())
                return cluster
            self._catch_up(clock, self._data.read_metadata())
            cluster, self._store = load_cluster(self._data, settings, release, seed, clock.now())
            self._catch_up(clock, newest_record_ms(self._store))
            add_options(cluster)
            load_coordinators(cluster, clock.now())
            self._write_or_raise(self._store, clock.now())
        except BaseException:
            self._data.close()
            raise
        return cluster

    def _catch_up(self, clock: BrokerClock, newest_ms: int) -> None:
        """Let the broker's time not be before a record that the broker wrote."""
        now_ms = clock.now().wall_ms
        if now_ms < newest_ms:
            log.warning(
                "the clock is %.1f s behind the newest record of %s; the broker's time begins at %s",
                (newest_ms - now_ms) / 1000,
                self._data.path,
                datetime.fromtimestamp(newest_ms / 1000, UTC).isoformat(timespec="milliseconds"),
            )
            clock.restore(newest_ms, 1.0, is_frozen=False)

    def _create(self, cluster: "Cluster", now: Instant) -> None:
        """Keep a cluster in place of all that is kept. Raises InvalidArgument; then that is kept as before."""
        try:
            new = self._data.begin_replacement()
            try:
                store = self._decided_for(new, cluster, now)
            except BaseException:
                self._data.give_up_replacement(new)
                raise
        except OSError as error:
            raise unusable(self._data.path, "cannot be written", error) from None
        self._take(new, store)

    def _decided_for(self, new: DataDirectory, cluster: "Cluster", now: Instant) -> ClusterStore:
        """Write a cluster to an empty directory, which counts from then on. Raises InvalidArgument, OSError."""
        new.create(cluster.cluster_id, {node_id: cluster.new_uuid() for node_id in new.directories}, now.wall_ms)
        store = ClusterStore(new, cluster)
        try:
            store.keep_everything()
            store.write(now)
            if any(each.log_start_offset or each.log.cleaned_until for each in store.stored_logs()):
                store.write_checkpoints(now)
            for error in store.failed.values():
                raise error
            for lost in store.lost:
                raise wrong(self._data.path, f"cannot be written: {lost.reason}")
            self._data.decide_for(new)
        except BaseException:
            store.end()
            raise
        return store

    def _take(self, new: DataDirectory, store: ClusterStore) -> None:
        """Put a new state that was decided for in its place.

        Raises InvalidArgument; then nothing is kept any more, and the next start on the directory has the new state.
        """
        if self._store is not None:
            self._store.end()
        try:
            self._data.take(new)
        except BaseException as error:
            store.end()
            self._store = None
            self._data.close()
            if not isinstance(error, OSError):
                raise
            self.on_failure(f"its data directory has failed: {cause(error)}")
            raise unusable(self._data.path, "cannot be written", error) from None
        store.move_to(self._data)
        self._store = store

    def _write_or_raise(self, store: ClusterStore, now: Instant) -> None:
        """Write for the first time: what fails now is a mistake in the broker's options."""
        failed = store.write(now)
        if failed:
            raise unusable(self._data.path, "cannot be written", store.failed[failed[0]])

    def replace(self, cluster: "Cluster", now: Instant) -> None:
        """Keep another cluster from now on; all that was kept is removed.

        Raises InvalidArgument; then the other one is kept as before. A kill at any moment leaves the one or the other.
        """
        was_open = self._data.is_open
        self.resume()
        try:
            self._create(cluster, now)
        finally:
            if not was_open:
                self.stop(now)

    def write_while_stopped(self, now: Instant) -> None:
        """Write what was changed while no clients are served. Raises InvalidArgument as `resume` does."""
        if self._store is not None and self._store.is_dirty:
            was_open = self._data.is_open
            self.resume()
            self._write_or_raise(self._store, now)
            if not was_open:
                self.stop(now)

    @property
    def ahead_s(self) -> float:
        """How long it takes to write what has happened since the start, as far as that is more than appending."""
        return 0.0 if self._store is None else self._store.ahead_s

    def write(self, now: Instant) -> list[int]:
        """Write what has changed, before anything of it is answered. Returns the brokers whose directories fail."""
        store = self._store
        return [] if store is None else store.write(now)

    def take_lost(self) -> list[LostReplica]:
        """The replicas that could not be written to since the last call, though their brokers go on."""
        if self._store is None or not self._store.lost:
            return []
        lost, self._store.lost = self._store.lost, []
        return lost

    def failure_of(self, node_id: int) -> str:
        """Why the log directory of a broker has failed."""
        assert self._store is not None
        return cause(self._store.failed[node_id])

    def stop(self, now: Instant) -> None:
        """Write everything for a fast start, and let others use the directory. Does nothing after `stop`."""
        if self._store is not None and self._data.is_open:
            self._store.stop(now)
            self._sizes = self._data.sizes()
            self._data.close()

    def resume(self) -> None:
        """Lock the directory again after `stop`. Raises InvalidArgument if another broker has used it meanwhile."""
        if self._data.is_open:
            return
        cluster_id = self._data.cluster_id
        self._data.open()
        if self._data.cluster_id != cluster_id or self._data.sizes() != self._sizes:
            self._data.close()
            raise wrong(self._data.path, "was used by another broker since this one was stopped; make a new broker")

    def forget(self) -> None:
        """In a forked child: the directory stays with the parent, and what this process does is not kept."""
        self._data.forget()
        if self._store is not None:
            self._store.end()
            self._store = None
