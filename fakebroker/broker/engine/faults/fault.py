"""One fault that is set: what it counts, and whether it means a request."""

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from fakebroker.broker.engine.faults.fields import version_range
from fakebroker.broker.engine.faults.naming import Named
from fakebroker.broker.engine.faults.spec import FaultSpec

if TYPE_CHECKING:
    from random import Random


class IncomingRequest(NamedTuple):
    """A request as the functions of a fault are given it (`when`, `run`). `message` is the decoded request, None where
    its body was not looked at; it is not to be changed. `principal` is who the client is: "User:alice".
    """

    api: str
    version: int
    client_id: str | None
    node_id: int
    connection_id: int
    correlation_id: int
    message: Any
    principal: str


class Fault:
    """A fault of one engine. `hits` is how many requests it hit, `matched` how many it could have hit."""

    def __init__(self, fault_id: int, spec: FaultSpec, api_keys: tuple[int, ...], random: "Random") -> None:
        self.fault_id = fault_id
        self.spec = spec
        self.api_keys = api_keys
        self.hits = 0
        self.matched = 0
        self._versions = (0, 32767) if spec.version is None else version_range(spec.version)
        self._random = random

    @property
    def stall_ms(self) -> int:
        """For how long it stalls."""
        return round((self.spec.for_s or 0) * 1000)

    def concerns(self, api_key: int, version: int) -> bool:
        """Whether it may mean requests of that API and version."""
        first, last = self._versions
        return api_key in self.api_keys and first <= version <= last

    def means(self, request: IncomingRequest, named: list[Named], transactional_ids: list[str]) -> bool:
        """Whether it means this request, which is of an API and version that it `concerns`. Raises what `when` does."""
        spec = self.spec
        return (
            spec.node in (None, request.node_id)
            and spec.connection in (None, request.connection_id)
            and (spec.client_id is None or fnmatchcase(request.client_id or "", spec.client_id))
            and (spec.principal is None or fnmatchcase(request.principal, spec.principal))
            and (
                spec.transactional_id is None
                or any(fnmatchcase(one, spec.transactional_id) for one in transactional_ids)
            )
            and any(map(self.chooses, named))
            and (spec.when is None or bool(spec.when(request)))
        )

    def chooses(self, named: Named) -> bool:
        """Whether it means an entry of a request that names this."""
        spec = self.spec
        return (
            (spec.group is None or (named.group is not None and fnmatchcase(named.group, spec.group)))
            and (spec.topic is None or (named.topic is not None and fnmatchcase(named.topic, spec.topic)))
            and spec.partition in (None, named.partition)
        )

    def is_due(self) -> bool:
        """Count a request that it means: whether this is one to be hit."""
        self.matched += 1
        spec = self.spec
        if spec.nth is not None and self.matched != spec.nth:
            return False
        if spec.every is not None and self.matched % spec.every:
            return False
        if spec.probability is not None and self._random.random() >= spec.probability:
            return False
        return spec.times is None or self.hits < spec.times

    @property
    def is_exhausted(self) -> bool:
        """Whether it can hit no further request: `times` are used up, or the `nth` request has come."""
        spec = self.spec
        times_are_up = spec.times is not None and self.hits >= spec.times
        return times_are_up or (spec.nth is not None and self.matched >= spec.nth)

    def delay_ms(self) -> int:
        """How long this hit delays."""
        delay_s = self.spec.delay_s or 0
        if self.spec.jitter_s:
            delay_s += self._random.uniform(0, self.spec.jitter_s)
        return round(delay_s * 1000)

    def byte_of(self, first: int, end: int) -> int:
        """A position from `first` to before `end`, by chance."""
        return self._random.randrange(first, end)

    def __str__(self) -> str:
        return f"fault {self.fault_id} ({self.spec})"
