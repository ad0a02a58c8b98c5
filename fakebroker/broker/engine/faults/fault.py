"""One fault that is set: what it counts, and whether it means a request."""

from typing import TYPE_CHECKING

from fakebroker.broker.engine.faults.incoming import IncomingRequest
from fakebroker.broker.engine.faults.naming import Named
from fakebroker.broker.engine.faults.patterns import version_range
from fakebroker.broker.engine.faults.spec import FaultSpec
from fakebroker.protocol.wildcards import is_like

if TYPE_CHECKING:
    from random import Random


class Fault:
    """A fault of one engine. `hits` is how many requests it hit, `matched` how many it could have hit."""

    def __init__(self, fault_id: int, spec: FaultSpec, api_keys: tuple[int, ...], random: "Random") -> None:
        self.fault_id = fault_id
        self.spec = spec
        self.api_keys = api_keys
        self.hits = 0
        self.matched = 0
        version = spec.fields.get("version")
        self._versions = (0, 32767) if version is None else version_range(version)
        self._random = random

    @property
    def stall_ms(self) -> int:
        """For how long it stalls."""
        return round((self.spec.fields.get("for_s") or 0) * 1000)

    def concerns(self, api_key: int, version: int) -> bool:
        """Whether it may mean requests of that API and version."""
        first, last = self._versions
        return api_key in self.api_keys and first <= version <= last

    def means_client(self, request: IncomingRequest) -> bool:
        """Whether it means requests of the client that sent this one, to this node."""
        fields = self.spec.fields
        return (
            fields.get("node") in (None, request.node_id)
            and fields.get("connection") in (None, request.connection_id)
            and _fits(fields.get("client_id"), request.client_id or "")
            and _fits(fields.get("principal"), request.principal)
        )

    @property
    def chooses_by_name(self) -> bool:
        """Whether it means requests only that name a certain group, topic or partition."""
        fields = self.spec.fields
        return any(fields.get(name) is not None for name in ("group", "topic", "partition"))

    @property
    def chooses_by_transaction(self) -> bool:
        """Whether it means requests only that name a certain transactional id."""
        return self.spec.fields.get("transactional_id") is not None

    def chooses_transaction(self, transactional_id: str) -> bool:
        """Whether it means a request that names this transactional id."""
        return _fits(self.spec.fields.get("transactional_id"), transactional_id)

    def is_wanted(self, request: IncomingRequest) -> bool:
        """Whether the test's own function wants it for this request. Raises what that does."""
        when = self.spec.fields.get("when")
        return when is None or bool(when(request))

    def chooses(self, named: Named) -> bool:
        """Whether it means an entry of a request that names this."""
        fields = self.spec.fields
        return (
            _fits(fields.get("group"), named.group)
            and _fits(fields.get("topic"), named.topic)
            and fields.get("partition") in (None, named.partition)
        )

    def is_due(self) -> bool:
        """Count a request that it means: whether this is one to be hit."""
        self.matched += 1
        fields = self.spec.fields
        if self.matched != fields.get("nth", self.matched) or self.matched % (fields.get("every") or 1):
            return False
        probability, times = fields.get("probability"), fields.get("times")
        if probability is not None and self._random.random() >= probability:
            return False
        return times is None or self.hits < times

    @property
    def is_exhausted(self) -> bool:
        """Whether it can hit no further request: `times` is used up, or the `nth` request has passed."""
        times, nth = self.spec.fields.get("times"), self.spec.fields.get("nth")
        return (times is not None and self.hits >= times) or (nth is not None and self.matched >= nth)

    def delay_ms(self) -> int:
        """How long this hit delays."""
        delay_s = self.spec.fields.get("delay_s") or 0
        if jitter_s := self.spec.fields.get("jitter_s"):
            delay_s += self._random.uniform(0, jitter_s)
        return round(delay_s * 1000)

    def byte_of(self, first: int, end: int) -> int:
        """A position from `first` to before `end`, by chance."""
        return self._random.randrange(first, end)

    def __str__(self) -> str:
        return f"fault {self.fault_id} ({self.spec})"


def _fits(pattern: str | None, name: str | None) -> bool:
    """Whether a name is one that a pattern means; None means all, also what has no name."""
    return pattern is None or (name is not None and is_like(name, pattern))
