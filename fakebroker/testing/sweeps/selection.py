"""Which cases a sweep runs: the plausible faults of the requests that were seen, sampled when they are too many."""

from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from fakebroker.broker.engine.faults.patterns import api_names, parts_of
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.protocol.wire.registry import APIS
from fakebroker.testing.sweeps import plausible
from fakebroker.testing.sweeps.cases import Case, RequestSeen
from fakebroker.testing.sweeps.plausible import DEFAULT_APIS

DEFAULT_BUDGET = 200


class Selection(NamedTuple):
    """What is to be swept, checked: the names of the APIs and faults (None: all that are plausible), the sample."""

    apis: tuple[str, ...]
    faults: tuple[str, ...] | None
    seed: int
    budget: int | None


def selection(
    apis: str | None = None, faults: str | None = None, seed: int = 0, budget: int | None = DEFAULT_BUDGET
) -> Selection:
    """Check what a sweep is asked for. Raises InvalidArgument with the nearest right names."""
    check_whole("seed", seed, 0)
    if budget is not None:
        check_whole("budget", budget, 1)
    fault_names = None
    if faults is not None:
        fault_names = tuple(dict.fromkeys(plausible.fault(each).name for each in parts_of("faults", faults)))
    return Selection(_api_names(DEFAULT_APIS if apis is None else apis), fault_names, seed, budget)


def cases_of(seen: Sequence[RequestSeen], chosen: Selection) -> list[Case]:
    """Every case there is, in the order of the requests. Group faults need a client that is a member."""
    clients: dict[str, dict[str, None]] = {}
    for request in seen:
        clients.setdefault(request.api, {})[request.client_id] = None
    cases = []
    for request in seen:
        for name in plausible.plausible(request.api, chosen.faults):
            fault = plausible.fault(name)
            if request.is_member or not fault.disturbs:
                is_named = len(clients[request.api]) > 1
                cases.append(Case(request.api, request.nth, fault, request.client_id, request.previous, is_named))
    return cases


def sample(cases: Sequence[Case], seed: int, budget: int | None) -> list[Case]:
    """At most `budget` of the cases, in their order, spread over APIs and faults; the same seed chooses the same."""
    if budget is None or len(cases) <= budget:
        return list(cases)
    chance = Random(seed)
    kinds: dict[tuple[str, str], list[int]] = {}
    for place, case in enumerate(cases):
        kinds.setdefault((case.api, case.fault.name), []).append(place)
    for places in kinds.values():
        chance.shuffle(places)
    order = list(kinds.values())
    chance.shuffle(order)
    chosen: list[int] = []
    while len(chosen) < budget:  # one of each kind, then a second of each, ...
        chosen += [places.pop() for places in order if places]
    return [cases[place] for place in sorted(chosen[:budget])]


def check_whole(field: str, value: Any, least: int) -> None:
    """Raise InvalidArgument for what is no whole number, and for less than `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidArgument(field, value, f"{field} must be a whole number from {least}, not {value!r}")


def _api_names(pattern: str) -> tuple[str, ...]:
    """The APIs that a pattern as "OffsetCommit|Fetch|*Group" names."""
    return api_names("apis", pattern, [each.name for each in APIS.values()])
