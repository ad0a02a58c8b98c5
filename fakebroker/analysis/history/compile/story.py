"""The whole timeline of a window: the state before it, then what happened in it, in order."""

from collections.abc import Sequence
from itertools import groupby

from fakebroker.analysis.history.compile.anonymise import Names
from fakebroker.analysis.history.compile.batches import batches_of, folded
from fakebroker.analysis.history.compile.consumer_rounds import ConsumerRounds
from fakebroker.analysis.history.compile.happened import (
    Commit,
    Ended,
    Event,
    Gone,
    Member,
    Pending,
    Settled,
    Window,
)
from fakebroker.analysis.history.compile.producers import Producers
from fakebroker.analysis.history.compile.retention import Retention, is_expiry, passes_of
from fakebroker.analysis.history.compile.rounds import EARLIER, Rounds
from fakebroker.analysis.history.compile.timeline import Timeline, time_text
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.testing.releases import served_by

_FIRST_OF_PROTOCOL_2 = 5  # of TxnOffsetCommit
_GROUP_GONE = "The group is deleted here; the log does not tell whether by a client or by a cleanup."
_OFFSET_GONE = "Too young to have expired; the log does not tell who deleted it."


class Story:
    """Makes the timeline. After `tell` the steps are in `line`, the actors in `rounds`."""

    def __init__(
        self, window: Window, names: Names, retention: Retention, *, keeps_commits: bool, release: str = "4.3"
    ) -> None:
        self._window, self._retention, self._keeps_commits = window, retention, keeps_commits
        self._deletes_offsets = ApiKey.OFFSET_DELETE in served_by(release)
        passes = passes_of(window, retention)
        self.begins_ms = _beginning(window, passes, retention.interval_ms)
        self.line = Timeline(names, window.group_id, self.begins_ms, passes, retention.interval_ms)
        self.rounds = ConsumerRounds(self.line) if window.is_of_consumer_group else Rounds(self.line)
        self.transactions = Producers(self.line, adds_groups=not _has_protocol_2(release))
        self._settled = window.settled
        self.remarks: dict[str, None] = {}

    def tell(self) -> None:
        """Everything, from the first step to the last."""
        self.line.begin()
        self._before()
        self.line.at(self._window.start_ms)
        if self._window.settled is not None and self._window.settled.state == "Stable":
            self.line.remark("The members of the group at the start of the window.")
            self.rounds.settle(self._window.settled)
        self._expect_visitor(self._window.settled)
        self.line.remark("The window begins.")
        self._expect_all()
        for _, events in groupby(self._window.events, key=_stretch_of):
            self._take(list(events))
        self.line.at(max(self._window.end_ms, self.line.now_ms))
        self.line.remark("The window ends.")
        self._expect_all()

    # -- before the window -------------------------------------------------------------------------------------------

    def _before(self) -> None:
        """The offsets of before, each committed at its time; by a member, where the group had any then."""
        settled, commits = self._window.settled, self._window.commits
        is_simple = settled is None or settled.state == "Dead" or not settled.protocol_type
        if settled is None or is_simple or (not commits and settled.state == "Stable"):
            self._commit_as(commits, None)
            return
        self.line.remark("Commits of the group before the window, by one member in place of all.")
        self.rounds.settle(_earlier(settled, commits))
        if settled.state == "Stable":
            self._commit_as(commits, EARLIER)
            return
        self._commit_as([each for each in commits if each.at_ms <= settled.since_ms], EARLIER)
        self.line.at(settled.since_ms)
        self.rounds.settle(settled)
        self._commit_as([each for each in commits if each.at_ms > settled.since_ms], None)

    def _commit_as(self, commits: Sequence[Commit], committer: str | None) -> None:
        actor = self.rounds.actor(committer) if committer is not None else None
        for batch in batches_of(commits, lambda _: committer):
            self.line.commit(batch, actor)
            self.rounds.exists = True

    # -- in the window -----------------------------------------------------------------------------------------------

    def _take(self, events: Sequence[Event]) -> None:
        """Events of one kind that follow each other."""
        first = events[0]
        if isinstance(first, Commit):
            self._commits([each for each in events if isinstance(each, Commit)])
        elif isinstance(first, Gone):
            self._gone([each for each in events if isinstance(each, Gone)])
        elif isinstance(first, Pending):
            self.transactions.commit([each for each in events if isinstance(each, Pending)])
        else:
            for each in events:
                if isinstance(each, Ended):
                    self.transactions.end(each)
                    self.rounds.exists |= bool(each.commits)
                elif isinstance(each, Settled):
                    self._settle(each)

    def _commits(self, commits: Sequence[Commit]) -> None:
        batches = batches_of(commits, lambda each: self.rounds.committer_of(each.member_id, each.place))
        for batch in batches if self._keeps_commits else folded(batches):
            self.line.commit(batch, None if batch.committer is None else self.rounds.actor(batch.committer))
            self.rounds.exists = True

    def _gone(self, gone: Sequence[Gone]) -> None:
        """Offsets that went at one moment: by the cleanup, which the clock does, or because somebody deleted them."""
        self.line.at(gone[0].at_ms)
        there = [each for each in gone if each.place in self.line.offsets]
        offsets = self.line.offsets
        expired = [each for each in there if is_expiry(each, offsets[each.place], self._settled, self._retention)]
        deleted = [each for each in there if each not in expired]
        for each in there:
            del self.line.offsets[each.place]
        if deleted and not self._dies_at(gone[0]):
            self._delete(deleted)
        if there:
            if expired:
                self.line.remark("The offsets are due, and the cleanup deletes them.")
            if not self._dies_at(gone[0]) or not deleted:
                self.line.expect_offsets([each.place for each in there])
        if expired and not self.line.offsets and not self.rounds.members:
            self.rounds.died()

    def _dies_at(self, gone: Gone) -> bool:
        """Whether the group itself goes right after its offsets."""
        return any(
            isinstance(each, Settled) and each.state == "Dead" and each.at_ms == gone.at_ms
            for each in self._window.events
            if each.position > gone.position
        )

    def _delete(self, gone: Sequence[Gone]) -> None:
        """An administrator deletes offsets; of a topic that members read only its deletion can take them."""
        topics = dict.fromkeys(each.topic for each in gone if self._is_read(each.topic) or each.how == "topic deleted")
        for topic in topics:
            self._delete_topic(topic)
        rest = [each for each in gone if each.topic not in topics]
        if rest:
            if not rest[0].how:
                self.line.remark(_OFFSET_GONE)
            partitions = [self.line.partition(each.place) for each in rest]
            step = {self.line.admin(): f"delete_offsets {self.line.group}", "partitions": partitions}
            self.line.add({**step, "expect": {"error": "NONE"}})

    def _is_read(self, topic: str) -> bool:
        """Whether OffsetDelete is refused for this topic: a member subscribes to it, or may do so (OD-4).

        Before 2.4 there is no OffsetDelete: then too only the deletion of the topic can take an offset.
        """
        settled = self._settled
        if not self._deletes_offsets:
            return True
        if settled is None or not self.rounds.members:
            return False
        is_unknown = settled.read_topics is None or settled.protocol_type != "consumer"
        return is_unknown or topic in (settled.read_topics or ())

    def _delete_topic(self, topic: str) -> None:
        name, kept = self.line.topic(topic), [each for each in self.line.offsets.values() if each.topic == topic]
        self.line.remark("Only a deletion of the topic explains the loss of its offsets: it is deleted and recreated.")
        self.line.add({self.line.admin(): f"delete_topic {name}"})
        self.line.add({self.line.admin(): f"create_topic {name}", "partitions": self._window.partitions[topic]})
        if kept:
            self.remarks["offsets of other partitions are committed again after the deletion of their topic"] = None
            self._commits([each._replace(at_ms=self.line.now_ms) for each in kept])

    def _settle(self, settled: Settled) -> None:
        self.line.at(settled.at_ms)
        self._settled = settled
        if settled.state != "Dead":
            self.rounds.settle(settled)
            self._expect_visitor(settled)
            return
        was_there = self.rounds.exists and not self.rounds.members
        if was_there and settled.is_deletion is not False and (self.line.offsets or self.rounds.exists):
            if settled.is_deletion is None:
                self.line.remark(_GROUP_GONE)
            self.line.add({self.line.admin(): f"delete_group {self.line.group}"})
        self.line.offsets.clear()
        self.rounds.died()
        self._expect_gone()

    def _expect_gone(self) -> None:
        """The group is not there. A transaction makes it, also an aborted one, and nobody can tell for how long."""
        if not self.transactions.actors:
            self.line.add({"expect": {"group": self.line.group, "exists": False}})

    def _expect_visitor(self, settled: Settled | None) -> None:
        """An Empty group without offsets lasts until the next cleanup; one that lasts longer has somebody in it."""
        if settled is None or settled.state != "Empty" or self.line.offsets or not self.rounds.exists:
            return
        self.line.delay_cleanup("The history keeps the group without offsets, so the next cleanup comes later.")
        states = (each for each in self._window.events if isinstance(each, Settled))
        following = next((each for each in states if each.position > settled.position), None)
        if following is not None and following.state == "Empty" and following.generation != settled.generation:
            self.rounds.visit(following, list(self._window.partitions))

    def _expect_all(self) -> None:
        """The group as a whole, as the history has it now."""
        if not self.rounds.exists:
            self._expect_gone()
            return
        seen = self.rounds.seen() if self.rounds.generation else {"state": "Empty", "members": 0}
        if seen["state"] == "Empty" and not self.line.offsets:  # nobody can tell when a cleanup comes by
            seen = {"state": {"one_of": ["Empty", "Dead"]}, "members": 0}
        self.line.expect_offsets(list(self.line.offsets), **seen)


def _stretch_of(event: Event) -> tuple[object, ...]:
    """Equal for events that are taken together: commits that follow each other, and what goes at one moment."""
    if isinstance(event, Pending):
        return Pending, event.at_ms, event.transactional_id, event.commit.metadata
    return type(event), event.at_ms if isinstance(event, Gone) else 0


def _has_protocol_2(release: str) -> bool:
    """Whether TxnOffsetCommit adds the group to the transaction itself (KIP-890)."""
    _, newest = served_by(release)[ApiKey.TXN_OFFSET_COMMIT]
    return newest >= _FIRST_OF_PROTOCOL_2


def _beginning(window: Window, passes: Sequence[int], interval_ms: int) -> int:
    """When the timeline begins: not after anything in it, and a whole number of intervals before the first expiry."""
    times = [window.start_ms, *(commit.at_ms for commit in window.commits)]
    if window.settled is not None and window.settled.state == "Empty":
        times.append(window.settled.since_ms)
    first_ms = min(times)
    return first_ms - (first_ms - passes[0]) % interval_ms if passes else first_ms


def _earlier(settled: Settled, commits: Sequence[Commit]) -> Settled:
    """A generation of one member, which reads everything that was committed before the window."""
    topics = tuple(sorted({each.topic for each in commits}))
    places: dict[str, list[int]] = {}
    for topic, partition in sorted({each.place for each in commits}):
        places.setdefault(topic, []).append(partition)
    member = Member(EARLIER, None, None, None, None, topics, places)
    return settled._replace(
        state="Stable", generation=None, leader=EARLIER, members=(member,), causes=(), expired=frozenset()
    )


def window_text(window: Window) -> str:
    """The window in words."""
    return f"{time_text(window.start_ms)} to {time_text(window.end_ms)}"
