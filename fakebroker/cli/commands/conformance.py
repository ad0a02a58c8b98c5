"""`fakebroker conformance`: judges any broker by the recorded dialogues."""

import datetime
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from fakebroker.cli.choice import Choice
from fakebroker.cli.exit_status import CommandError, ExitStatus, errors_end_the_command
from fakebroker.cli.quiet_log import quiet_log

if TYPE_CHECKING:
    from fakebroker.scenarios.conformance.cases import Case
    from fakebroker.scenarios.conformance.on_fresh import OnFresh
    from fakebroker.scenarios.conformance.on_running import OnRunning
    from fakebroker.scenarios.conformance.verdicts import Result

_CHAPTERS = [
    "groups",
    "offsets",
    "expiry",
    "list-offsets",
    "log",
    "transactions",
    "consumer-groups",
    "share-groups",
    "streams-groups",
    "admin",
    "security",
    "cluster",
]
_FACTOR = click.FloatRange(min=0)
_SECONDS = click.FloatRange(min=0, min_open=True)
_OUTPUT = click.Path(dir_okay=False, writable=True)  # checked before the run, which may take half an hour


@click.command()
@click.argument("address", required=False, metavar="[HOST:PORT]")
@click.option("--command", metavar="COMMAND", help="Shell command that starts a broker, in place of HOST:PORT.")
@click.option(
    "--control-command",
    default="",
    metavar="COMMAND",
    help="With --command: shell command that does {action} to broker {node}.",
)
@click.option("--command-config", metavar="FILE", help="Client properties for HOST:PORT: TLS and login.")
@click.option("--release", default="4.3", show_default=True, metavar="RELEASE", help="Kafka release of the recordings.")
@click.option("--chapter", "chapters", multiple=True, type=Choice(_CHAPTERS), help="Chapter to play. Repeatable.")
@click.option(
    "--only", multiple=True, metavar="PATTERN", help="Part of a case's name, or a pattern with *. Repeatable."
)
@click.option("--read-only", is_flag=True, help="Play only cases that change nothing on the broker.")
@click.option("--exclusive", is_flag=True, help="Also play cases about the whole broker: ACLs, quotas, lists of all.")
@click.option("--per-case", is_flag=True, help="With --command: start a broker for each case.")
@click.option(
    "--jobs", type=click.IntRange(1, 64), default=2, show_default=True, help="With --command: brokers run at a time."
)
@click.option(
    "--side-by-side", type=click.IntRange(1, 256), default=16, show_default=True, help="Cases at a time on one broker."
)
@click.option("--slack", type=_FACTOR, default=1.0, show_default=True, help="Factor on the tolerance of waits.")
@click.option(
    "--start-limit",
    type=_SECONDS,
    default=60.0,
    show_default=True,
    help="With --command: seconds until a broker answers.",
)
@click.option(
    "--time-limit",
    type=_SECONDS,
    default=1800.0,
    show_default=True,
    help="Seconds after which the rest is not run.",
)
@click.option(
    "--recordings",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of recordings. [default: those of the extra `conformance`]",
)
@click.option("--junit", type=_OUTPUT, metavar="FILE", help="Write the result as JUnit XML.")
@click.option("--json", "json_file", type=_OUTPUT, metavar="FILE", help="Write the result as JSON.")
@click.option("--verbose", is_flag=True, help="Show every difference, and why cases were not played.")
def conformance(
    address: str | None,
    command: str | None,
    junit: str | None,
    json_file: str | None,
    verbose: bool,
    **options: Any,
) -> None:
    """Judge any Kafka broker by dialogues recorded from real ones.

    Prints each difference with its rules, and a score by chapter.

    HOST:PORT is a running broker. What a case creates has a name of its own and is deleted afterwards; nothing else is
    touched. Cases that need other settings, or a broker of their own, are counted and not played.

    With --command 'start {port} {settings}' brokers are started for the cases, one for all with the same settings, and
    ended with their children. {settings} is key=value ..., {settings:--config} has that option before each,
    {settings_file} is a properties file, {folder} an empty folder. A command that cannot start a broker with the
    settings ends with status 2. A command with {nodes} starts that many brokers, which --control-command stops and
    starts: {action} is stop, kill, restart, freeze or thaw.

    Exit status: 0 nothing differs, 1 something differs, 2 wrong option, 3 no broker answers or not all cases were run.
    """
    with errors_end_the_command(), quiet_log(), _ended_by_signals():
        cases = _cases(options)
        judge = _judge(address, command, options)
        results = _run(judge, cases, verbose)
        _print_table(results, judge, verbose)
        _write(results, address or f"--command {command!r}", options["release"], junit, json_file)
    _end(results)


def _cases(options: dict[str, Any]) -> "list[Case]":
    from fakebroker.scenarios.conformance.cases import read_cases, recordings_folder, select
    from fakebroker.scenarios.conformance.needs import needs_of

    cases = read_cases(recordings_folder(options["recordings"]))
    found = select(cases, options["release"], options["chapters"], options["only"])
    return [case for case in found if needs_of(case).is_reading] if options["read_only"] else found


def _judge(address: str | None, command: str | None, options: dict[str, Any]) -> "OnRunning | OnFresh":
    from fakebroker.client.cluster.client_properties import security_in_file
    from fakebroker.client.security import Security
    from fakebroker.scenarios.conformance.access import Access, parsed_address
    from fakebroker.scenarios.conformance.broker_command import BrokerCommand
    from fakebroker.scenarios.conformance.on_fresh import OnFresh
    from fakebroker.scenarios.conformance.on_running import OnRunning, Options

    if address is None and command is None:
        raise click.UsageError("give HOST:PORT of a running broker, or --command to start one")
    if address is not None and command is not None:
        raise click.UsageError("HOST:PORT and --command are mutually exclusive")
    how = Options(options["side_by_side"], options["slack"], options["time_limit"], options["exclusive"])
    config = options["command_config"]
    if address is not None:
        if options["control_command"]:
            raise click.UsageError("--control-command needs --command")
        security = Security() if config is None else security_in_file(config)
        return OnRunning(Access(parsed_address(address), security), how)
    assert command is not None
    if config is not None:
        raise click.UsageError("--command-config needs HOST:PORT")
    broker = BrokerCommand(command, options["start_limit"], options["control_command"])
    return OnFresh(broker, how, options["jobs"], options["per_case"])


def _run(judge: "OnRunning | OnFresh", cases: "Sequence[Case]", verbose: bool) -> "list[Result]":
    """Every result; differences are printed as they come."""
    from fakebroker.scenarios.conformance.report_text import difference, not_judged
    from fakebroker.scenarios.conformance.verdicts import Verdict

    results: list[Result] = []
    progress = _Progress(len(cases))
    for result in judge.run(cases):
        results.append(result)
        if result.verdict is Verdict.DIFFERS:
            progress.clear()
            click.echo(difference(result, verbose))
        elif verbose and result.verdict is not Verdict.SAME:
            progress.clear()
            click.echo(not_judged(result))
        progress.show(results)
    progress.clear()
    return results


class _Progress:
    """A line on a terminal that says how far the run is."""

    def __init__(self, cases: int) -> None:
        self._cases = cases
        self._is_shown = sys.stderr.isatty()

    def show(self, results: "Sequence[Result]") -> None:
        """Write the line again."""
        if self._is_shown:
            differ = sum(bool(result.problems) for result in results)
            click.echo(f"\r{len(results)}/{self._cases} cases, {differ} differ ", err=True, nl=False)

    def clear(self) -> None:
        """Take the line away."""
        if self._is_shown:
            click.echo("\r\x1b[K", err=True, nl=False)


def _print_table(results: "Sequence[Result]", judge: "OnRunning | OnFresh", verbose: bool) -> None:
    from fakebroker.scenarios.conformance.report_text import reasons, table, under_way

    click.echo(table(results))
    if not verbose:
        for line in reasons(results):
            click.echo(line)
    for line in under_way(results):
        click.echo(line)
    for left in getattr(judge, "left", []):
        click.echo(f"left behind: {left}", err=True)


def _write(results: "Sequence[Result]", judged: str, release: str, junit: str | None, json_file: str | None) -> None:
    from fakebroker.scenarios.conformance import report_json, report_junit

    if junit is not None:
        report_junit.write(junit, results)
    if json_file is not None:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        about = {"broker": judged, "recordings": f"Kafka {release}", "fakebroker": version("fakebroker"), "at": now}
        report_json.write(json_file, results, about)


def _end(results: "Sequence[Result]") -> None:
    from fakebroker.scenarios.conformance.verdicts import Verdict

    verdicts = {result.verdict for result in results}
    if Verdict.DIFFERS in verdicts:
        raise SystemExit(ExitStatus.FAILED)
    if Verdict.NOT_RUN in verdicts:
        raise CommandError("not all cases were run", ExitStatus.UNAVAILABLE)
    if Verdict.SAME not in verdicts:
        raise CommandError("no case could be played on this broker", ExitStatus.UNAVAILABLE)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """SIGTERM ends the command as Ctrl-C does: what was made is deleted, what was started is ended."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
