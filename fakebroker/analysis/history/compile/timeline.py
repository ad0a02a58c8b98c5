"""The steps of a scenario as they are written: time, commits, what is expected. What members do is in `rounds.py`."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from fakebroker.analysis.history.compile.anonymise import Names
from fakebroker.analysis.history.compile.batches import Batch
from fakebroker.analysis.history.compile.happened import Commit, TopicPartition
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.registry import newest_with_retention
from fakebroker.scenarios.recording.step_fields import duration_text

Json = Any
Step = dict[str, Json]

ADMIN = "admin"  # the actor that commits and deletes without being a member
TOGETHER_MS = 1000  # a clock that goes back by no more is a log in which two writers took turns
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NO_ERROR = {"error": "NONE"}


def time_text(wall_ms: int) -> str:
    """A time of day as scenarios write it: 2026-03-01T10:00:00Z, with milliseconds where there are any."""
    when = _EPOCH + timedelta(milliseconds=wall_ms)
    return when.isoformat(timespec="milliseconds" if wall_ms % 1000 else "seconds").replace("+00:00", "Z")


class Timeline:
    """Steps in their order, the time of day at which they stand, and the offsets that the group has then."""

    def __init__(self, names: Names, group_id: str, begins_ms: int, passes: Sequence[int], interval_ms: int) -> None:
        self.names, self.group = names, _text(names.name("group", group_id))
        self.steps: list[Step] = []
        self.now_ms = begins_ms
        self.offsets: dict[TopicPartition, Commit] = {}
        self.used_admin = False
        self._passes, self._interval_ms = passes, interval_ms
        self._since_ms = begins_ms
        self._note = ""

    def begin(self) -> None:
        """The clock stands still, at the time of the history; the cleanups count from here."""
        self.add({"clock": "freeze"})
        self.add({"clock": f"set {time_text(self.now_ms)}"})
        if self._passes:
            self._load()

    def add(self, step: Step) -> None:
        """The next step, with the remark that waits for one."""
        if self._note:
            step = {"note": self._note, **step}
            self._note = ""
        self.steps.append(step)

    def remark(self, text: str) -> None:
        """A remark for the next step."""
        self._note = f"{self._note} {text}".strip()

    def at(self, wall_ms: int) -> None:
        """Go to this time. Back by up to a second is the same moment."""
        while (pass_ms := self._next_pass(wall_ms)) is not None:
            self._go(pass_ms - self._interval_ms)
            self.remark("The cleanups of the history are a whole number of intervals after this moment.")
            self._load()
        self._go(wall_ms)

    def _next_pass(self, wall_ms: int) -> int | None:
        """The next cleanup of the history, if it needs that the intervals count from a moment until `wall_ms`."""
        coming = next((each for each in self._passes if each > self.now_ms), None)
        if coming is None or (coming - self._since_ms) % self._interval_ms == 0:
            return None
        return coming if self.now_ms <= coming - self._interval_ms <= wall_ms else None

    def delay_cleanup(self, why: str) -> None:
        """The next cleanup is a whole interval away from now, unless the history has one before."""
        coming = next((each for each in self._passes if each > self.now_ms), None)
        if coming is None or coming - self._interval_ms >= self.now_ms:
            self.remark(why)
            self._load()

    def _load(self) -> None:
        # A name with spaces is one if nothing else can stand after it: then the time of the load has a key.
        at_once = {"for": "0s"} if " " in self.group else {}
        self.add({"coordinator": f"load {self.group}", **at_once})
        self._since_ms = self.now_ms

    def _go(self, wall_ms: int) -> None:
        by_ms = wall_ms - self.now_ms
        if by_ms > 0:
            self.add({"clock": f"advance {duration_text(by_ms)}"})
        elif by_ms < -TOGETHER_MS:
            self.add({"clock": f"step_back {duration_text(-by_ms)}"})
            self._since_ms += by_ms
        else:
            return
        self.now_ms = wall_ms

    # -- offsets -----------------------------------------------------------------------------------------------------

    def commit(self, batch: Batch, actor: str | None) -> None:
        """Commit as a member, or as nobody (None), what a batch has."""
        self.at(batch.at_ms)
        if batch.folded:
            self.remark(f"{batch.folded} earlier commits are left out: newer ones replaced them.")
        first = batch.commits[0]
        if first.expires_ms is not None:
            self.add(self._with_retention(batch, actor))
        else:
            step: Step = {actor or self.admin(): "commit"}
            step["offsets"] = {self.partition(each.place): each.offset for each in batch.commits}
            if first.metadata:
                step["metadata"] = self.metadata(first.metadata)
            if actor is None:
                step["group_id"] = self.group
            self.add({**step, "expect": _NO_ERROR})
        self.offsets |= {each.place: each for each in batch.commits}

    def _with_retention(self, batch: Batch, actor: str | None) -> Step:
        """A commit that says how long it is to be kept."""
        first = batch.commits[0]
        by_topic: dict[str, list[Json]] = {}
        for each in batch.commits:
            row = {"partition_index": each.partition, "committed_offset": each.offset}
            if each.metadata:
                row["committed_metadata"] = self.metadata(each.metadata)  # type: ignore[assignment]
            by_topic.setdefault(self.topic(each.topic), []).append(row)
        member = {"generation_id_or_member_epoch": f"${actor}.generation_id", "member_id": f"${actor}.member_id"}
        return {
            actor or self.admin(): "request OffsetCommit",
            "version": newest_with_retention(ApiKey.OFFSET_COMMIT),
            "group_id": self.group,
            **(member if actor is not None else {}),
            "retention_time_ms": max((first.expires_ms or 0) - batch.at_ms, 0),
            "topics": [{"name": name, "partitions": rows} for name, rows in by_topic.items()],
            "expect": _NO_ERROR,
        }

    def admin(self) -> str:
        """The actor that is no member."""
        self.used_admin = True
        return ADMIN

    def expect_offsets(self, places: Sequence[TopicPartition], **more: Json) -> None:
        """These offsets must be as they are here, null for those that are gone; `more` is expected of the group."""
        offsets = {
            self.partition(each): self.offsets[each].offset if each in self.offsets else None for each in sorted(places)
        }
        self.add({"expect": {"group": self.group, **more, "offsets": offsets}})

    def topic(self, name: str) -> str:
        """The name of a topic here."""
        return self.names.name("topic", name)

    def metadata(self, text: str) -> str:
        """The text beside an offset, as it is here."""
        return _text(self.names.metadata(text))

    def partition(self, place: TopicPartition) -> str:
        """A partition here."""
        return f"{self.topic(place[0])}-{place[1]}"

    def assignment(self, assignment: Mapping[str, Sequence[int]]) -> dict[str, list[int]]:
        """An assignment with the names of here."""
        return {self.topic(topic): list(indexes) for topic, indexes in assignment.items()}


def _text(text: str) -> str:
    """A text that would name something saved, so that it stands for itself."""
    return f"${text}" if text.startswith("$") else text
