"""`fakebroker scenario run PATH...`: plays scenarios in virtual time and says what came of them."""

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from itertools import groupby
from pathlib import Path
from shutil import get_terminal_size
from time import perf_counter

import click

from fakebroker.cli.commands.kafka_options import kafka_options
from fakebroker.cli.exit_status import CommandError, ExitStatus, errors_end_the_command
from fakebroker.client.security import ClientConfig
from fakebroker.scenarios.language.reading import find_scenarios, read_scenario
from fakebroker.scenarios.language.yaml_file import check_extra
from fakebroker.scenarios.running.run import Outcome, Status, Task, play
from fakebroker.scenarios.running.side_by_side import outcomes as played
from fakebroker.scenarios.running.summary import failures_text, line_of, total_text

MAX_PLAYS = 10_000_000
_RANGE = re.compile(r"(?:(\d+)(?:\.\.|-))?(\d+)")


@click.command("run")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("-k", "pattern", metavar="PATTERN", help="Only files whose path contains this; may have wildcards.")
@click.option("--approve", "approves", is_flag=True, help="Save transcripts of passing runs as approved.")
@click.option(
    "--set", "parameters", multiple=True, metavar="NAME=VALUE", help="Parameter of the scenarios. Repeatable."
)
@click.option(
    "--config", multiple=True, metavar="SETTING=VALUE", help="Broker setting that overrides the file's. Repeatable."
)
@click.option("--seed", type=click.IntRange(min=0), help="Play with the order and times drawn from this seed.")
@click.option("--seeds", metavar="N|FIRST..LAST", help="Play with each of the seeds 1 to N, or FIRST to LAST.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first failure.")
@click.option("-v", "--verbose", is_flag=True, help="Print the transcript of every run.")
@click.option("--junit", metavar="FILE", help="Write the results as JUnit XML.")
@kafka_options("--against", "Also play on this Kafka cluster and compare.")
@click.option("--strict", is_flag=True, help="Fail on a missing transcript, or on steps left out with --against.")
@click.option("--longest-pass", metavar="DURATION", help="With --against: longest time of a step. [default: 15s]")
@click.option("--processes", type=click.IntRange(min=1), help="Processes that play. [default: one per processor]")
def run(
    paths: tuple[str, ...],
    pattern: str | None,
    approves: bool,
    parameters: tuple[str, ...],
    config: tuple[str, ...],
    seed: int | None,
    seeds: str | None,
    fail_fast: bool,
    verbose: bool,
    junit: str | None,
    against: ClientConfig | None,
    strict: bool,
    longest_pass: str | None,
    processes: int | None,
) -> None:
    """Play scenarios in virtual time: files, and all files of folders.

    A scenario passes when its expectations hold and its transcript is the approved one, NAME.transcript beside
    NAME.yaml. One without an approved transcript is new; it fails only with --strict. With a seed, or with other
    parameters or settings than those in the file, only the expectations count. With --against a scenario passes when
    clients see the same on the Kafka cluster.

    The exit status is 1 if a scenario failed, 2 if a file is not a scenario.
    """
    _check_extra()
    given = dict(_pair(text, "--set") for text in parameters)
    settings = dict(_pair(text, "--config") for text in config)
    if approves and (given or settings or seed is not None or seeds is not None):
        raise click.UsageError(
            "--approve cannot be used with --set, --config, --seed and --seeds: it saves runs of the files as written"
        )
    if seed is not None and seeds is not None:
        raise click.UsageError("--seed and --seeds are mutually exclusive")
    if against is not None:
        switches = {"--approve": approves, "--fail-fast": fail_fast}
        values = {
            "--seed": seed,
            "--seeds": seeds,
            "--junit": junit,
            "--processes": processes,
            "--config": config or None,
        }
        meant = [name for name, is_set in switches.items() if is_set]
        meant += [name for name, value in values.items() if value is not None]
        if meant:
            raise click.UsageError(f"--against plays the files as written; it cannot be used with {', '.join(meant)}")
        _compare(_files(paths, pattern), given, against, strict, longest_pass, verbose)
        return
    if longest_pass is not None:
        raise click.UsageError("--longest-pass needs --against HOST:PORT")
    drawn: Sequence[int | None] = [seed] if seeds is None else seeds_of(seeds)
    files = _files(paths, pattern)
    tasks = [Task(file, given, each, approves, verbose, settings, strict) for file in files for each in drawn]
    if len(tasks) > MAX_PLAYS:
        raise click.UsageError(f"{len(tasks):,} plays exceed the limit of {MAX_PLAYS:,}")
    began_s = perf_counter()
    found = list(_shown(played(play, tasks, processes), files, fail_fast, verbose))
    _end(found, perf_counter() - began_s, junit)


def _compare(
    files: Sequence[str],
    parameters: Mapping[str, str],
    kafka: ClientConfig,
    is_strict: bool,
    longest_pass: str | None,
    shows_transcripts: bool,
) -> None:
    """Play files on a real Kafka, and compare."""
    from fakebroker.cli.commands.scenario_against import run_against

    _check_extra()
    read = partial(read_scenario, parameters=parameters)
    run_against(files, read, kafka, is_strict, longest_pass, shows_transcripts)


def _shown(results: Iterator[Outcome], files: Sequence[str], fail_fast: bool, verbose: bool) -> Iterator[Outcome]:
    """The outcomes, each file's printed as soon as all its plays are over."""
    width = max(map(len, files))
    is_coloured = _has_colours()
    with _Progress(len(files)) as progress:
        for path, group in groupby(results, lambda each: each.task.path):
            of_file: list[Outcome] = []
            for outcome in group:
                if of_file and of_file[0].is_unread:
                    continue  # it is the same with every seed
                of_file.append(outcome)
                progress.show(path, len(of_file))
                if fail_fast and not outcome.is_good:
                    break
            progress.clear()
            click.echo(line_of(of_file, width, is_coloured))
            for each in of_file if verbose else ():
                click.echo(each.transcript)
            progress.done += 1
            yield from of_file
            if fail_fast and not of_file[-1].is_good:
                return


def _end(found: Sequence[Outcome], took_s: float, junit: str | None) -> None:
    """Print what is not good, write the JUnit file, and end the command with its status."""
    is_coloured = _has_colours()
    for _, group in groupby(found, lambda each: each.task.path):
        if text := failures_text(list(group), is_coloured):
            click.echo(f"\n{text}")
    click.echo(("\n" if len(found) > 1 else "") + total_text(found, took_s if sys.stdout.isatty() else None))
    if junit is not None:
        from fakebroker.scenarios.running.junit import write

        try:
            write(junit, found)
        except OSError as error:
            raise CommandError(f"{junit} cannot be written: {error.strerror or error}") from None
    statuses = {each.status for each in found if not each.is_good}
    if statuses:
        raise SystemExit(ExitStatus.BAD_INPUT if Status.UNREADABLE in statuses else ExitStatus.FAILED)


def _files(paths: Sequence[str], pattern: str | None) -> list[str]:
    """The files that are meant, in order. Raises UsageError if there are none."""
    with errors_end_the_command():
        files = list(dict.fromkeys(str(path) for path in find_scenarios([Path(path) for path in paths])))
    wanted = [file for file in files if pattern is None or _is_meant(file, pattern)]
    if not wanted:
        where = " ".join(paths)
        what = f"no scenario in {where} matches {pattern!r}" if files else f"there are no scenarios in {where}"
        raise click.UsageError(what)
    return wanted


def _check_extra() -> None:
    """End the command with what to install if YAML cannot be read here."""
    with errors_end_the_command():
        check_extra()


def _is_meant(file: str, pattern: str) -> bool:
    return fnmatchcase(file.casefold(), f"*{pattern.casefold()}*")


def seeds_of(text: str) -> range:
    """1000 is 1 to 1000, 5..20 is 5 to 20. Raises UsageError."""
    found = _RANGE.fullmatch(text)
    if found is None or len(text) > 40:
        raise click.UsageError(f"--seeds is a number or a range such as 1000 or 5..20, not {text!r}")
    first, last = int(found[1] or 1), int(found[2])
    if last < first:
        raise click.UsageError(f"--seeds {text}: the range from {first} to {last} is empty")
    if last - first >= MAX_PLAYS:
        raise click.UsageError(f"--seeds {text}: more than the limit of {MAX_PLAYS:,} plays")
    return range(first, last + 1)


def _pair(text: str, option: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found or not name:
        raise click.UsageError(f"{option} {text!r} is not NAME=VALUE")
    return name, value


def _has_colours(environment: Mapping[str, str] = os.environ) -> bool:
    return sys.stdout.isatty() and not environment.get("NO_COLOR")


class _Progress:
    """A line on a terminal that says how far it is; elsewhere nothing."""

    EVERY_S = 0.1

    def __init__(self, files: int) -> None:
        self.done = 0
        self._files = files
        self._shown_s = perf_counter()
        self._is_shown = False
        self._is_terminal = sys.stderr.isatty()

    def __enter__(self) -> "_Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def show(self, path: str, plays: int) -> None:
        """Say what is being played, now and then."""
        if self._is_terminal and (now_s := perf_counter()) - self._shown_s >= self.EVERY_S:
            self._shown_s, self._is_shown = now_s, True
            line = f"{self.done} of {self._files}  {path}  {plays}"
            click.echo(f"\r\033[K{line[: get_terminal_size().columns - 1]}", nl=False, err=True)

    def clear(self) -> None:
        """Take the line away."""
        if self._is_shown:
            self._is_shown = False
            click.echo("\r\033[K", nl=False, err=True)
