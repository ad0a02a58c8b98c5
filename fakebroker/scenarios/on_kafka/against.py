"""`fakebroker scenario run --against HOST:PORT`: scenarios on a running Kafka, and where fakebroker differs from it.

Each scenario is cut to what a Kafka can do (`kafka_steps.py`), given names of its own (`fresh_names.py`), played there
in real time and then, the same steps, on fakebroker in virtual time. What clients saw is compared by meaning.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from time import perf_counter

from fakebroker.client.cluster.cluster_client import ClusterClient
from fakebroker.client.security import ClientConfig
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.scenarios.on_kafka.fresh_names import with_fresh_names, without_suffix
from fakebroker.scenarios.on_kafka.kafka_powers import CLIENT_ID, KafkaPowers
from fakebroker.scenarios.on_kafka.kafka_steps import LONGEST_PASS_MS, KafkaPart, LeftOut, kafka_part
from fakebroker.scenarios.on_kafka.kafka_world import KafkaWorld, fresh_suffix
from fakebroker.scenarios.on_kafka.two_plays import differences_between, fails_in_both
from fakebroker.scenarios.playing.player import Played, Player
from fakebroker.scenarios.playing.worlds import VirtualWorld
from fakebroker.scenarios.running.transcript import transcript_of
from fakebroker.scenarios.script import ClientStep, Scenario, steps_in
from fakebroker.testing.releases import release

log = logging.getLogger(__name__)
JOBS = 8  # plays wait most of their time


class Result(Enum):
    """What came of a comparison."""

    SAME = "same"
    DIFFERS = "differs"
    CANNOT = "cannot"  # be played on this Kafka, or at all
    REFUSED = "refused"  # with --strict: a part of it cannot be played
    ERROR = "ERROR"  # the file is no scenario, or the Kafka went away


@dataclass(frozen=True)
class How:
    """How scenarios are played: where, for how long at most, how exact waits are.

    `slack` is a factor on the tolerance of waits, for busy machines. `is_strict`: only what can be played as a whole.
    `keeps_transcript`: what happened on the Kafka is wanted as text, too.
    """

    kafka: ClientConfig
    is_strict: bool = False
    longest_pass_ms: int = LONGEST_PASS_MS
    slack: float = 1.0
    keeps_transcript: bool = False


@dataclass(frozen=True)
class Comparison:
    """One scenario on a Kafka and on fakebroker.

    `left_out` are the steps that were taken on neither; `unmet` the expectations that hold on neither, because of
    that or because the scenario is about another release. `is_second`: the first play, beside others, differed.
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
    transcript: str = ""
    took_s: float = 0.0
    is_second: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether the whole story was played, and held."""
        return self.result is Result.SAME and self.keeps_story and not self.unmet

    @property
    def is_in_part(self) -> bool:
        """Whether it is the same as far as it goes, but steps that make the story are left out."""
        return self.result is Result.SAME and not self.is_whole


def compare_all(
    paths: Sequence[Path], read: Callable[[Path], Scenario], how: How, jobs: int = JOBS
) -> Iterator[Comparison]:
    """Compare scenarios, several at the same time; what came of each, in the order of the paths.

    `read` makes a scenario of a path. What goes wrong with one is in its comparison; nothing is raised. One that
    differs is played once more when the others are over, by itself: a busy Kafka is late, and may take requests of
    several connections in another order than the scenario sends them. The second play counts.
    """

    def one(path: Path) -> Comparison:
        try:
            return compare(read(path), how)
        except (FakebrokerError, OSError) as error:
            return Comparison(str(path), Result.ERROR, str(error))

    with ThreadPoolExecutor(jobs) as pool:
        plays = [pool.submit(one, path) for path in paths]
        for path, play in zip(paths, plays, strict=True):
            found = play.result()
            if found.result is Result.DIFFERS and min(jobs, len(plays)) > 1:
                wait(plays)
                found = replace(one(path), is_second=True)
            yield found


def compare(scenario: Scenario, how: How) -> Comparison:
    """Play a scenario on a Kafka and on fakebroker. Raises OSError or FakebrokerError if the Kafka does not answer."""
    began_s = perf_counter()
    world = KafkaWorld(how.kafka, how.longest_pass_ms)
    try:
        comparison = _compare_in(world, scenario, how)
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
    try:
        kafkas = _played_there(world, fresh)
    finally:
        _tidy_up(how, suffix)
    ours = Player(VirtualWorld(fresh), fresh).play()
    found_ones = differences_between(fresh, kafkas, ours, how.slack, suffix)
    differences = [without_suffix(str(each), suffix) for each in found_ones]
    unmet = [without_suffix(each, suffix) for each in fails_in_both(kafkas, ours)]
    if not part.left_out and release(scenario.release).name == world.release:
        differences += [f"{each} (neither on Kafka nor on fakebroker)" for each in unmet]
        unmet = []
    return replace(
        found,
        result=Result.DIFFERS if differences else Result.SAME,
        requests=sum(type(each).__name__ == "Sent" for each in kafkas.happenings),
        differences=tuple(differences),
        unmet=tuple(unmet),
        transcript=without_suffix(transcript_of(fresh, kafkas.happenings, kafkas.start_wall_ms), suffix)
        if how.keeps_transcript
        else "",
    )


def _why_nothing(part: KafkaPart) -> str | None:
    if any(isinstance(step, ClientStep) for step in steps_in(part.scenario.timeline)):
        return None
    return "no step is left that reaches a real Kafka"


def _played_there(world: KafkaWorld, scenario: Scenario) -> Played:
    world.prepare(scenario)
    return Player(world, scenario).play()


def _tidy_up(how: How, suffix: str) -> None:
    """Leave the Kafka as it was, as far as it lets us; what cannot be deleted is no failure of the play."""
    with ClusterClient(how.kafka.bootstrap, security=how.kafka.security, client_id=CLIENT_ID) as cluster:
        try:
            KafkaPowers(cluster).forget(suffix)
        except (FakebrokerError, OSError) as error:
            log.warning("groups and topics that end in %s could not be deleted: %s", suffix, error)
