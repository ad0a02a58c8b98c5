"""`fakebroker scenario run --against HOST:PORT`: scenarios on a running Kafka, and where fakebroker differs from it.

Each scenario is cut to what a Kafka can do (`kafka_steps.py`), given names of its own (`fresh_names.py`), played there
in real time and then, the same steps, on fakebroker in virtual time. What clients saw is compared by meaning.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from time import perf_counter

from fakebroker.errors import FakebrokerError
from fakebroker.scenario.fresh_names import with_fresh_names, without_suffix
from fakebroker.scenario.kafka_steps import LONGEST_PASS_MS, KafkaPart, LeftOut, kafka_part
from fakebroker.scenario.kafka_world import KafkaWorld, fresh_suffix, steps_of
from fakebroker.scenario.script import ClientStep, Scenario
from fakebroker.scenario.two_plays import Play, differences_between, fails_in_both

JOBS = 8  # plays wait most of their time


class Result(Enum):
    """What came of a comparison."""

    SAME = "same"
    DIFFERS = "differs"
    CANNOT = "cannot"  # be played on this Kafka, or at all
    REFUSED = "refused"  # with --strict: a part of it cannot be played


@dataclass(frozen=True)
class How:
    """How scenarios are played: where, for how long at most, how exact waits are.

    `slack` is a factor on the tolerance of waits, for busy machines. `is_strict`: only what can be played as a whole.
    """

    host: str
    port: int
    is_strict: bool = False
    longest_pass_ms: int = LONGEST_PASS_MS
    slack: float = 1.0


@dataclass(frozen=True)
class Comparison:
    """One scenario on a Kafka and on fakebroker.

    `left_out` are the steps that were taken on neither, `unmet` the expectations that hold on neither because of that.
    """

    path: str
    result: Result
    why: str = ""
    release: str = ""
    requests: int = 0
    left_out: Sequence[LeftOut] = ()
    keeps_story: bool = True
    differences: Sequence[str] = ()
    unmet: Sequence[str] = ()
    took_s: float = 0.0

    @property
    def is_whole(self) -> bool:
        """Whether the whole scenario was played, and held."""
        return self.result is Result.SAME and self.keeps_story and not self.unmet


def compare_all(
    paths: Sequence[Path], read: Callable[[Path], Scenario], how: How, jobs: int = JOBS
) -> Iterator[Comparison]:
    """Compare scenarios, several at the same time; what came of each, in the order of the paths.

    `read` makes a scenario of a path; what it raises of FakebrokerError makes it one that cannot be played.
    """

    def one(path: Path) -> Comparison:
        try:
            return compare(read(path), how)
        except FakebrokerError as error:
            return Comparison(str(path), Result.CANNOT, str(error))

    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(one, paths)


def compare(scenario: Scenario, how: How) -> Comparison:
    """Play a scenario on a Kafka and on fakebroker. Raises OSError when nothing listens there."""
    began_s = perf_counter()
    world = KafkaWorld(how.host, how.port, how.longest_pass_ms)
    try:
        comparison = _compare_in(world, scenario, how)
    except FakebrokerError as error:
        comparison = Comparison(scenario.path, Result.CANNOT, str(error), world.release)
    finally:
        world.close()
    return replace(comparison, took_s=perf_counter() - began_s)


def _compare_in(world: KafkaWorld, scenario: Scenario, how: How) -> Comparison:
    part = kafka_part(scenario, world.versions, how.longest_pass_ms)
    why = world.why_not_at_all(scenario) or _why_nothing(part)
    found = Comparison(scenario.path, Result.CANNOT, why or "", world.release, left_out=part.left_out)
    found = replace(found, keeps_story=part.keeps_story)
    if why is not None:
        return found
    if how.is_strict and part.left_out:
        count = len(part.left_out)
        return replace(found, result=Result.REFUSED, why=f"{count} step{'s' if count > 1 else ''} cannot be taken")
    suffix = fresh_suffix()
    fresh = replace(with_fresh_names(part.scenario, suffix), release=world.release)
    kafkas = _played_there(world, fresh)
    ours = _played_here(fresh)
    found_ones = differences_between(fresh, kafkas, ours, how.slack, suffix)
    differences = [without_suffix(str(each), suffix) for each in found_ones]
    unmet = [without_suffix(each, suffix) for each in fails_in_both(kafkas, ours)]
    if unmet and not part.left_out:
        differences += [f"{each} (neither on Kafka nor on fakebroker)" for each in unmet]
    return replace(
        found,
        result=Result.DIFFERS if differences else Result.SAME,
        requests=sum(type(each).__name__ == "Sent" for each in kafkas.happenings),
        differences=tuple(differences),
        unmet=tuple(unmet),
    )


def _why_nothing(part: KafkaPart) -> str | None:
    if any(isinstance(step, ClientStep) for step in steps_of(part.scenario.timeline)):
        return None
    return "no step of a client is left that a Kafka could see"


def _played_there(world: KafkaWorld, scenario: Scenario) -> Play:
    from fakebroker.scenario.player import Player

    world.prepare(scenario)
    began_ms = world.wall_ms
    return Play(Player(world, scenario).play().happenings, began_ms)


def _played_here(scenario: Scenario) -> Play:
    from fakebroker.scenario.player import Player
    from fakebroker.scenario.worlds import VirtualWorld

    world = VirtualWorld(scenario)
    try:
        began_ms = world.wall_ms
        return Play(Player(world, scenario).play().happenings, began_ms)
    finally:
        world.close()


# -- what is told of it ------------------------------------------------------------------------------------------------


def lines_of(comparison: Comparison) -> list[str]:
    """One scenario: a line, and below it what differs and what was left out."""
    told = comparison.why
    if comparison.result in (Result.SAME, Result.DIFFERS):
        told = f"{comparison.requests} requests in {comparison.took_s:.1f} s"
        if comparison.left_out:
            told += f", {len(comparison.left_out)} of its steps left out"
    lines = [f"{comparison.result.value:<8} {comparison.path}  {told}"]
    lines += [f"    {each}" for each in comparison.differences]
    if comparison.result is not Result.CANNOT:
        lines += [f"    left out: {each}" for each in comparison.left_out]
        lines += [f"    does not hold without them: {each}" for each in comparison.unmet if comparison.left_out]
    return lines


def summary_of(comparisons: Iterable[Comparison], where: str) -> str:
    """The last line: how many scenarios went how."""
    all_of_them = list(comparisons)
    release = next((each.release for each in all_of_them if each.release), "")
    counts = {result: sum(each.result is result for each in all_of_them) for result in Result}
    in_part = sum(each.result is Result.SAME and not each.is_whole for each in all_of_them)
    same = f"{counts[Result.SAME]} as on Kafka {release} at {where}"
    parts = [same + (f" ({in_part} of them in part)" if in_part else "")]
    words = {Result.DIFFERS: "differ", Result.REFUSED: "refused", Result.CANNOT: "cannot be played there"}
    parts += [f"{counts[result]} {word}" for result, word in words.items() if counts[result]]
    return f"{len(all_of_them)} scenarios: {', '.join(parts)}"


def exit_code(comparisons: Iterable[Comparison]) -> int:
    """0 when something was played and nothing differs or was refused, else 1."""
    results = [each.result for each in comparisons]
    return int(Result.SAME not in results or Result.DIFFERS in results or Result.REFUSED in results)
