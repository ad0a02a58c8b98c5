"""Where two plays of one scenario differ in what clients saw: one on a Kafka, one on ours.

Answers are compared by meaning: ids, epochs and times are those of each run
(`scenarios/comparison/fields.py`). Waits are compared within what two machines differ in.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from fakebroker.protocol.errors import ErrorCode
from fakebroker.scenarios.comparison.matching import Around, Matching
from fakebroker.scenarios.comparison.walk import Difference
from fakebroker.scenarios.happenings import Failed, Happening, Received, Sent, StepBegan
from fakebroker.scenarios.playing.player import Played
from fakebroker.scenarios.script import ClientStep, Scenario, Step, steps_in

Json = Any

STEP_MS = 400  # what a step may take in real time that takes none in virtual time
TOLERANCE_MS, TOLERANCE = 400, 0.4  # of a wait, beside that: as for recorded dialogues
# Answers that list all groups or topics: the list, and the name in its entries.
_LISTS = {"ListGroups": ("Groups", "GroupId"), "Metadata": ("Topics", "Name")}
# Of a member that acts by itself, how often it asks in vain depends on the time that steps take.
_BY_THE_WAY = frozenset({"Heartbeat", "Fetch"})


@dataclass(frozen=True)
class ClientDifference:
    """One thing that clients saw otherwise: `where` is the step, or the request."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass
class _Exchange:
    """A request of an actor, with its answer if one came, the step of that moment, and how many began meanwhile."""

    sent: Sent
    step: Step | None
    received: Received | None = None
    steps_meanwhile: int = 0
    answered_as: int = 1 << 60  # which of all happenings the answer is


def differences_between(
    scenario: Scenario, kafkas: Played, ours: Played, slack: float = 1.0, suffix: str = ""
) -> list[ClientDifference]:
    """All differences, in the order in which they were seen on Kafka.

    Args:
        slack: A factor on the tolerance of waits.
        suffix: The end of the names of this play's groups and topics: others on the same Kafka do not count.
    """
    clients = [step for step in steps_in(scenario.timeline) if isinstance(step, ClientStep)]
    automatic = {step.actor for step in clients if step.verb == "consume"}
    return [
        *_Exchanges(automatic, slack, suffix).compare(kafkas, ours),
        *_failures(kafkas.happenings, ours.happenings),
    ]


def fails_in_both(kafkas: Played, ours: Played) -> list[str]:
    """Expectations that hold in neither: of a scenario from which steps were left out."""
    there, here = _failed(kafkas.happenings), _failed(ours.happenings)
    return [f"{_where(step)}: {'; '.join(problems)}" for key, (step, problems) in here.items() if key in there]


class _Exchanges:
    """Compares requests with their answers: the first of an actor with its first, and so on."""

    def __init__(self, automatic: set[str], slack: float, suffix: str) -> None:
        self._automatic = automatic
        self._slack = slack
        self._suffix = suffix
        self._matching = Matching()

    def compare(self, kafkas: Played, ours: Played) -> Iterator[ClientDifference]:
        """The differences, in the order in which Kafka answered: what an answer tells of ids, later ones rely on."""
        pairs: list[tuple[_Exchange, _Exchange]] = []
        alone: list[ClientDifference] = []
        there, here = _by_actor(self._exchanges(kafkas)), _by_actor(self._exchanges(ours))
        for actor in dict.fromkeys([*there, *here]):
            theirs, own = there.get(actor, []), here.get(actor, [])
            alike = sum(1 for _ in takewhile(_is_same_request, zip(theirs, own, strict=False)))
            pairs += zip(theirs[:alike], own[:alike], strict=True)
            alone += _parting(theirs[alike:], own[alike:])
        for one, other in sorted(pairs, key=lambda pair: pair[0].answered_as):
            yield from self._answers(one, other, kafkas.start_wall_ms, ours.start_wall_ms)
        yield from alone

    def _answers(self, theirs: _Exchange, own: _Exchange, their_ms: int, our_ms: int) -> Iterator[ClientDifference]:
        if theirs.sent.version != own.sent.version:
            yield ClientDifference(_title(theirs), f"on fakebroker it is sent in v{own.sent.version}")
            return
        if theirs.received is None or own.received is None:
            if theirs.received is not own.received:
                who = "Kafka" if theirs.received else "fakebroker"
                yield ClientDifference(_title(theirs), f"only {who} answers")
            return
        one, other = theirs.received, own.received
        if one.response is None or other.response is None:
            if one.response is not other.response:
                texts = {"Kafka": one, "fakebroker": other}
                said = ", ".join(f"{who} {each.why or 'answers'}" for who, each in texts.items())
                yield ClientDifference(_title(theirs), said)
            return
        around = Around(theirs.sent.request, their_ms + one.at_ms, our_ms + other.at_ms)
        recorded, own_answer = (_own_part(_readable(e.response), e.api, self._suffix) for e in (one, other))
        for found in self._matching.differences(recorded, own_answer, around):
            yield ClientDifference(_title(theirs), _text_of(found))
        yield from self._waits(theirs, one.waited_ms, other.waited_ms)

    def _waits(self, theirs: _Exchange, kafka_ms: int, our_ms: int) -> Iterator[ClientDifference]:
        tolerance_ms = (TOLERANCE * our_ms + TOLERANCE_MS) * self._slack
        late_ms = theirs.steps_meanwhile * STEP_MS * self._slack
        if not our_ms - tolerance_ms <= kafka_ms <= our_ms + tolerance_ms + late_ms:
            yield ClientDifference(_title(theirs), f"answered after {our_ms} ms, by Kafka after {kafka_ms} ms")

    def _exchanges(self, play: Played) -> list[_Exchange]:
        """The exchanges of a play, without those of automatic members that tell nothing."""
        found: dict[int, _Exchange] = {}
        step: Step | None = None
        for place, each in enumerate(play.happenings):
            match each:
                case StepBegan():
                    step = each.step
                    for exchange in found.values():
                        exchange.steps_meanwhile += exchange.received is None
                case Sent():
                    found[each.number] = _Exchange(each, step)
                case Received() if each.number in found:
                    found[each.number].received = each
                    found[each.number].answered_as = place
        return [each for each in found.values() if not self._is_by_the_way(each)]

    def _is_by_the_way(self, exchange: _Exchange) -> bool:
        sent, received = exchange.sent, exchange.received
        if sent.actor not in self._automatic or sent.api not in _BY_THE_WAY:
            return False
        return received is None or received.response is None or received.response.get("ErrorCode", 0) == 0


def _by_actor(exchanges: Sequence[_Exchange]) -> dict[str, list[_Exchange]]:
    found: dict[str, list[_Exchange]] = {}
    for each in exchanges:
        found.setdefault(each.sent.actor, []).append(each)
    return found


def _is_same_request(pair: tuple[_Exchange, _Exchange]) -> bool:
    return pair[0].sent.api == pair[1].sent.api


def _parting(theirs: Sequence[_Exchange], own: Sequence[_Exchange]) -> Iterator[ClientDifference]:
    """Where an actor's ways part: reported once, as later differences follow from it."""
    if theirs and own:
        sent = own[0].sent
        yield ClientDifference(_title(theirs[0]), f"on fakebroker {sent.actor} sends {sent.api}")
    elif theirs or own:
        only = "Kafka" if theirs else "fakebroker"
        yield ClientDifference(_title((theirs or own)[0]), f"it is only sent on {only}")


def _failures(kafkas: Sequence[Happening], ours: Sequence[Happening]) -> Iterator[ClientDifference]:
    """Expectations that hold in one play only."""
    there, here = _failed(kafkas), _failed(ours)
    for key, (step, problems) in there.items():
        if key not in here:
            yield ClientDifference(_where(step), f"does not hold on Kafka: {'; '.join(problems)}")
    for key, (step, problems) in here.items():
        if key not in there:
            yield ClientDifference(_where(step), f"holds on Kafka, not on fakebroker: {'; '.join(problems)}")


def _failed(happenings: Sequence[Happening]) -> dict[tuple[str, int], tuple[Step, tuple[str, ...]]]:
    """The failures by step; a step that is repeated is counted."""
    counts: Counter[str] = Counter()
    failed: dict[tuple[str, int], tuple[Step, tuple[str, ...]]] = {}
    for each in happenings:
        if isinstance(each, StepBegan):
            counts[str(each.step.place)] += 1
        elif isinstance(each, Failed):
            place = str(each.step.place)
            failed[place, counts[place]] = (each.step, tuple(each.problems))
    return failed


def _title(exchange: _Exchange) -> str:
    sent = exchange.sent
    where = f"{_where(exchange.step)}: " if exchange.step is not None else ""
    return f"{where}{sent.api} v{sent.version} of {sent.actor}"


def _where(step: Step) -> str:
    return f"line {step.place.line}: {step.text}"


def _text_of(found: Difference) -> str:
    """A difference in words, error codes by their names."""
    ours, kafkas = found.ours, found.recorded
    if found.path.endswith("ErrorCode"):
        ours, kafkas = _error(ours), _error(kafkas)
    return f"{found.path.lstrip('.')}: fakebroker {ours}, Kafka {kafkas}"


def _error(text: str) -> str:
    try:
        return ErrorCode(int(text)).name
    except ValueError:
        return text


def _own_part(answer: Json, api: str, suffix: str) -> Json:
    """An answer that lists everything there is, without what is not of this play."""
    if api not in _LISTS or not suffix:
        return answer
    key, name = _LISTS[api]
    return answer | {key: [each for each in answer.get(key) or () if str(each.get(name, "")).endswith(suffix)]}


def _readable(message: Json) -> Json:
    """A message whose records, read already, are compared as any list, without the times that producers gave."""
    if isinstance(message, Mapping):
        return {
            f"{key}Read" if key == "Records" and isinstance(value, list) else key: _records(value)
            if key == "Records" and isinstance(value, list)
            else _readable(value)
            for key, value in message.items()
        }
    return [_readable(each) for each in message] if isinstance(message, list) else message


def _records(records: list[Json]) -> list[Json]:
    return [{key: value for key, value in each.items() if key != "timestamp_ms"} for each in records]
