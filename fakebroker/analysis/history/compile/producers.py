"""The producers whose transactions commit offsets of a group, and the steps that they take."""

from collections.abc import Sequence
from typing import Any

from fakebroker.analysis.history.compile.happened import Ended, Pending
from fakebroker.analysis.history.compile.rounds import free_name
from fakebroker.analysis.history.compile.timeline import ADMIN, Timeline
from fakebroker.analysis.pipeline.tables.transactions import PRODUCER
from fakebroker.scenarios.language.declaration import ALL_WORDS, STEP_KEYS
from fakebroker.scenarios.recording.step_fields import duration_text

Json = Any

LONGEST_MS = 2**31 - 1
"""A timeout that no transaction of a scenario reaches: those that did are aborted when they were."""

_OK = {"error": "NONE"}
_COMPLETE = {True: "CompleteCommit", False: "CompleteAbort"}
_OTHERS = {
    "timeout": "Its timeout had passed.",
    "new producer": "A new producer fenced it.",
    "test": "A test aborted it.",
}
_UNKNOWN = "The history does not tell who aborted it."


class Producers:
    """An actor for each transactional id. With `adds_groups` a transaction adds the group first (AddOffsetsToTxn)."""

    def __init__(self, timeline: Timeline, *, adds_groups: bool) -> None:
        self._line, self._adds_groups = timeline, adds_groups
        self._open: set[str] = set()  # those with a transaction
        self.actors: dict[str, dict[str, Json]] = {}
        self._names: dict[str, str] = {}  # the actor of each transactional id
        self._ready: set[str] = set()  # those whose producer is not fenced

    def commit(self, pending: Sequence[Pending]) -> None:
        """One request with these offsets, all of one transaction; it begins the transaction if there is none."""
        first = pending[0]
        self._line.at(first.at_ms)
        actor = self._actor(first.transactional_id)
        if self._adds_groups and first.transactional_id not in self._open:
            self._line.add({actor: f"add_offsets_to_txn {self._line.group}", "expect": _OK})
        self._open.add(first.transactional_id)
        step: dict[str, Json] = {actor: "txn_offset_commit", "group_id": self._line.group}
        step["offsets"] = {self._line.partition(each.commit.place): each.commit.offset for each in pending}
        if first.commit.metadata:
            step["metadata"] = self._line.metadata(first.commit.metadata)
        self._line.add({**step, "expect": _OK})

    def end(self, ended: Ended) -> None:
        """A transaction is committed, or aborted by whoever did so."""
        self._line.at(ended.at_ms)
        self._open.discard(ended.transactional_id)
        name, actor = self._id(ended.transactional_id), self._names[ended.transactional_id]
        if ended.is_commit:
            self._line.add({actor: "commit_transaction", "expect": _OK})
        elif ended.by == PRODUCER:
            self._line.add({actor: "abort_transaction", "expect": _OK})
        else:
            self._line.remark(_OTHERS.get(ended.by or "", _UNKNOWN))
            self._line.add({"transaction": f"abort {name}"})
            self._ready.discard(ended.transactional_id)
        self._line.add({"wait": {"transaction": name, "state": _COMPLETE[ended.is_commit]}})
        self._line.offsets |= {each.place: each for each in ended.commits}

    def _actor(self, transactional_id: str) -> str:
        """The actor of a transactional id, which has a producer id that is not fenced."""
        if transactional_id not in self._names:
            taken = {*self.actors, ADMIN, *ALL_WORDS, *STEP_KEYS}
            self._names[transactional_id] = name = free_name(f"producer_{self._id(transactional_id)}", taken)
            self.actors[name] = {}
        actor = self._names[transactional_id]
        if transactional_id not in self._ready:
            self._ready.add(transactional_id)
            step = {actor: f"init_producer_id {self._id(transactional_id)}"}
            self._line.add({**step, "transaction_timeout": duration_text(LONGEST_MS), "expect": _OK})
        return actor

    def _id(self, transactional_id: str) -> str:
        return self._line.names.name("transaction", transactional_id)
