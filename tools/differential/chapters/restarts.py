"""Brokers that are stopped or killed, and what they know when they are back."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

from tools.differential.chapters.chapter import Action, Chapter, Step
from tools.differential.chapters.classic_groups import ClassicGroups, StaticMembers
from tools.differential.chapters.consumer_groups import ConsumerGroups
from tools.differential.chapters.offsets import Offsets
from tools.differential.chapters.transactions import Transactions
from tools.differential.pair import Asked, Exchange, Restart

MIXED: Final[Mapping[str, type[Chapter]]] = {
    "offsets": Offsets,
    "classic": ClassicGroups,
    "static": StaticMembers,
    "consumer": ConsumerGroups,
    "transactions": Transactions,
}


class Restarts(Chapter):
    """Offsets, groups and transactions in one history, with restarts in between.

    Each part has groups, ids and connections of its own; a restart is a matter of all of them.
    """

    needs: ClassVar[Sequence[str]] = ("OffsetCommit", "JoinGroup", "InitProducerId")
    actions: ClassVar[Mapping[str, int]] = {
        **{f"{part}.{name}": times for part, kind in MIXED.items() for name, times in kind.actions.items()},
        "restart": 4,
    }
    own_topics = True
    longest: ClassVar[int] = 80
    restarts = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        served = {part: kind for part, kind in MIXED.items() if all(api in self.versions for api in kind.needs)}
        self._parts = {part: kind(f"{self.name}-{part}", self.topics, self.versions) for part, kind in served.items()}

    def read(self, action: Action) -> Step:
        """An action of a part, on a connection of that part."""
        part, _, name = action[0].rpartition(".")
        if not part:
            return super().read(action)
        if part not in self._parts:
            return None
        step = self._parts[part].read((name, *action[1:]))
        match step:
            case Asked():
                return replace(step, connection=f"{part}.{step.connection}")
            case str():
                return f"{part}.{step}"
        return step

    def restart(self) -> Restart:
        """The broker ends as it should, or at once."""
        return Restart(self.pick(["stop", "kill"]))

    def note(self, exchange: Exchange) -> None:
        part, _, connection = exchange.asked.connection.partition(".")
        asked = replace(exchange.asked, connection=connection)
        self._parts[part].note(replace(exchange, asked=asked))
