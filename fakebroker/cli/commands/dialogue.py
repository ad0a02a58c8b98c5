"""`fakebroker dialogue play`: recorded dialogues from the command line."""

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from fakebroker.cli.commands.kafka_options import kafka_options
from fakebroker.cli.exit_status import ExitStatus, errors_end_the_command
from fakebroker.cli.lazy_commands import Commands
from fakebroker.cli.quiet_log import quiet_log
from fakebroker.client.cluster.cluster_client import ClusterClient
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.client.security import ClientConfig
from fakebroker.scenarios.dialogue.run import Outcome, play_against, play_in_sim, play_on_fresh_broker
from fakebroker.scenarios.dialogue.script import find_dialogues, read_dialogue
from fakebroker.testing.sim_driver import JITTER_MS

SHOWN_PROBLEMS = 6


@click.group(cls=Commands, help="Play dialogues that were recorded from real Kafka brokers.")
def dialogue() -> None:
    """The group of commands that the command line adds."""


@dialogue.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path), metavar="PATH...")
@kafka_options("--tcp", "Play in real time against this Kafka broker.")
@click.option("--fresh", is_flag=True, help="Play in real time over TCP, each against a new broker.")
@click.option("--slack", default=1.0, show_default=True, help="Real time: factor for the tolerance of waits.")
@click.option(
    "--jitter", default=JITTER_MS, show_default=True, help="Virtual time: tolerated difference of a wait, in ms."
)
@click.option("--jobs", default=16, show_default=True, help="With --fresh: number of dialogues played at a time.")
@click.option("--verbose", is_flag=True, help="Show every difference, and the dialogues that pass.")
def play(
    paths: tuple[Path, ...],
    tcp: ClientConfig | None,
    fresh: bool,
    slack: float,
    jitter: int,
    jobs: int,
    verbose: bool,
) -> None:
    """Play recorded dialogues and show where the broker differs from Kafka.

    They are played in virtual time unless --tcp or --fresh is given.
    """
    if tcp and fresh:
        raise click.UsageError("--tcp and --fresh are mutually exclusive")
    with errors_end_the_command(), quiet_log():
        way = _way(tcp, fresh, slack, jitter)
        files = find_dialogues(list(paths))
        outcomes = list(_shown(_play_all(files, way, jobs if fresh else 1), verbose))
    _summarize(outcomes)
    if any(not outcome.is_good for outcome in outcomes):
        raise SystemExit(ExitStatus.FAILED)


def _way(tcp: ClientConfig | None, fresh: bool, slack: float, jitter_ms: int) -> Callable[[Path], Outcome]:
    """How each dialogue is played. Raises ClusterError if there is no Kafka that lets us in."""
    if fresh:
        return lambda path: play_on_fresh_broker(read_dialogue(path), slack)
    if tcp:
        with ClusterClient(tcp.bootstrap, security=tcp.security) as cluster:
            address = cluster.reached()
        return lambda path: play_against(read_dialogue(path), TcpDriver.secured(address, tcp.security, slack))
    return lambda path: play_in_sim(read_dialogue(path), jitter_ms=jitter_ms)


def _play_all(paths: list[Path], way: Callable[[Path], Outcome], jobs: int) -> Iterator[Outcome]:
    if jobs == 1:
        yield from map(way, paths)
        return
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(way, paths)


def _shown(outcomes: Iterator[Outcome], verbose: bool) -> Iterator[Outcome]:
    """Print each outcome as it comes."""
    for outcome in outcomes:
        path = outcome.dialogue.path
        if outcome.is_good:
            if verbose:
                click.echo(f"ok   {path} ({outcome.took_ms} ms)")
        else:
            click.echo(f"DIFF {path}")
            shown = outcome.problems if verbose else outcome.problems[:SHOWN_PROBLEMS]
            for problem in shown:
                click.echo(f"     {problem}")
            if len(shown) < len(outcome.problems):
                click.echo(f"     and {len(outcome.problems) - len(shown)} more (--verbose)")
        yield outcome


def _summarize(outcomes: list[Outcome]) -> None:
    total = Counter(outcome.dialogue.path.resolve().parent.name for outcome in outcomes)
    good = Counter(outcome.dialogue.path.resolve().parent.name for outcome in outcomes if outcome.is_good)
    click.echo(", ".join(f"{folder} {good[folder]}/{count}" for folder, count in total.items()))
    took_ms = sum(outcome.took_ms for outcome in outcomes)
    click.echo(f"{good.total()} of {total.total()} dialogues as Kafka ({took_ms} ms)")
