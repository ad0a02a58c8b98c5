"""What histories are made of: a chapter reads numbers as requests, with what was answered before.

An action is a name with two numbers, from which its method picks versions, members, partitions and odd values one after
the other. 0 stands for the plain case of every choice.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from fakebroker.protocol.wire.registry import api as declared
from tools.differential.fitting import fitting
from tools.differential.mutation import mutated
from tools.differential.pair import Asked, Exchange, Restart
from tools.differential.topic import Topic

Json = Any
T = TypeVar("T")
Action = tuple[str, int, int]
Step = Asked | int | str | Restart | None

BITS = 24  # of a number: hypothesis chooses among longer ones the small ones more often
ODD_ONE_IN = 10  # requests of which a field has an odd value


class Chapter:
    """One history's state.

    Attributes:
        actions: The names of methods, each with how often it comes.
        own_topics: Whether each history has topics of its own.
        partitions: How many each topic has.
        topic_count: How many topics there are.
        topic_configs: Of its topics.
        needs: APIs without which the chapter is not played.
        longest: The most actions of a history.
        restarts: Whether its histories restart the brokers.
        name: Makes its groups and ids its own.
        topics: On both brokers.
        versions: Those that both brokers serve, by API.
    """

    actions: ClassVar[Mapping[str, int]]
    own_topics: ClassVar[bool] = False
    partitions: ClassVar[int] = 2
    topic_count: ClassVar[int] = 2
    topic_configs: ClassVar[Mapping[str, str]] = {}
    needs: ClassVar[Sequence[str]] = ()
    longest: ClassVar[int] = 40
    restarts: ClassVar[bool] = False

    def __init__(self, name: str, topics: Sequence[Topic], versions: Mapping[str, range]) -> None:
        self.name = name
        self.topics = topics
        self.versions = versions
        self._numbers: list[int] = []
        self._span = 0

    def read(self, action: Action) -> Step:
        """What an action is: a request, milliseconds to wait, a connection to close, a restart, or nothing now."""
        name, *self._numbers = action
        self._span = 1 << BITS
        make: Callable[[], Step] = getattr(self, name)
        return make()

    def first(self) -> list[Asked]:
        """Requests with which every history begins."""
        return []

    def note(self, exchange: Exchange) -> None:
        """Take in what the reference answered."""

    def pick(self, values: Sequence[T]) -> T:
        """One of these, by the numbers of the action; the first when they are used up."""
        if self._span < len(values):
            self._numbers, self._span = self._numbers[1:], 1 << BITS
        if not self._numbers:
            return values[0]
        self._numbers[0], index = divmod(self._numbers[0], len(values))
        self._span //= len(values)
        return values[index]

    def mostly(self, usual: T, *others: T) -> T:
        """The first in three of four cases."""
        return self.pick([*[usual] * (3 * len(others)), *others])

    def is_rare(self, one_in: int) -> bool:
        """True in one of so many cases."""
        return self.pick([False] * (one_in - 1) + [True])

    def ask(self, connection: str, api: str, request: dict[str, Json], **options: Any) -> Asked | None:
        """A request in one of the versions that both brokers serve; None if there is none.

        `least` and `most` bound the version. With `is_plain` no field has an odd value. The others are those of Asked.
        """
        least, most, is_plain = options.pop("least", 0), options.pop("most", 99), options.pop("is_plain", False)
        served = [version for version in self.versions.get(api, ()) if least <= version <= most]
        if not served:
            return None
        version = self.pick(served[::-1])
        request = fitting(declared(api).request, request)
        if not is_plain and self.is_rare(ODD_ONE_IN):
            request = mutated(request, self.pick(range(4096)))
        return Asked(connection, api, version, request, **options)
