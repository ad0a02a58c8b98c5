"""`fakebroker history compile`: a window of a group's history as a scenario."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fakebroker.cli.commands.engine_options import EngineChoice, engine_options_for_little, running_spark
from fakebroker.cli.commands.scenario_output import check_is_new, write_whole
from fakebroker.cli.commands.tables_option import tables_option
from fakebroker.cli.exit_status import ExitStatus, errors_end_the_command
from fakebroker.protocol.errors import FakebrokerError

if TYPE_CHECKING:
    from fakebroker.analysis.history.compile.anonymise import Names

_DURATION_HELP = "Length of the window, half of it before --around: 30m, 2h, 1d 12h."


@click.command("compile")
@tables_option
@click.option("--group", "group_id", required=True, metavar="GROUP", help="Group to make the scenario of.")
@click.option(
    "--around", required=True, metavar="TIME", help="Moment in the history: 2026-03-01T10:00, UTC unless it has a zone."
)
@click.option("--window", default="30m", show_default=True, metavar="DURATION", help=_DURATION_HELP)
@click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="X.yaml",
    help="Scenario file to write.",
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option("--anonymise", is_flag=True, help="Hash the names of groups, topics, members and clients.")
@click.option(
    "--secret-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Secret for --anonymise. [default: FAKEBROKER_SECRET, or .fakebroker-secret]",
)
@click.option("--digits", type=click.IntRange(4, 32), default=6, show_default=True, help="Digits of each hash.")
@click.option("--every-commit", is_flag=True, help="Also keep commits that were overwritten later.")
@click.option("--config", multiple=True, metavar="NAME=VALUE", help="Broker setting in force at the time. Repeatable.")
@click.option("--as", "release", default="4.3", show_default=True, metavar="RELEASE", help="Kafka release to emulate.")
@click.option("--source", metavar="NAME", help="Log or run, if several have this group.")
@engine_options_for_little
def compile_history(
    tables: Path,
    group_id: str,
    around: str,
    window: str,
    out: Path,
    force: bool,
    anonymise: bool,
    secret_file: Path | None,
    digits: int,
    every_commit: bool,
    config: tuple[str, ...],
    release: str,
    source: str | None,
    choice: EngineChoice,
) -> None:
    """Make a scenario from the history of a group around a moment.

    `history decode` and `pipeline build` make the tables. The scenario is played once before it is written; one that
    does not pass is written to X.failed.yaml, and the exit status is 1.
    """
    from fakebroker.analysis.history.compile.scenario import Options, compiled
    from fakebroker.analysis.history.compile.window import window_of

    with errors_end_the_command():
        check_is_new(out, force=force)
        options = Options(release, tuple(_setting(each) for each in config), every_commit)
        start_ms, end_ms = _bounds(around, window)
        rows = _rows(tables, group_id, start_ms, end_ms, source, choice)
        names = _names(anonymise, secret_file, digits)
        found = compiled(window_of(rows, group_id, start_ms, end_ms), names, options)
        path = _write(out, found.text, passes=not found.problems)
    for problem in found.problems:
        click.echo(f"{path} does not pass: {problem}", err=True)
    if found.problems:
        click.echo(f"wrote {path}: {len(found.problems)} expectations do not hold", err=True)
        raise SystemExit(ExitStatus.FAILED)
    click.echo(f"wrote {path}: {found.steps} steps, and it passes\nplay it: fakebroker scenario run {path}")


def _bounds(around: str, window: str) -> tuple[int, int]:
    """The window in ms since the epoch. Raises BadParameter for what is no time or no duration."""
    from fakebroker.protocol.durations import duration_ms

    try:
        when = datetime.fromisoformat(around)
    except ValueError:
        raise click.BadParameter(f"{around!r} is not a time, such as 2026-03-01T10:00", param_hint="--around") from None
    try:
        length_ms = duration_ms(window)
    except ValueError as error:
        raise click.BadParameter(f"{window!r} {error}", param_hint="--window") from None
    middle_ms = round((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)
    return middle_ms - length_ms // 2, middle_ms + length_ms - length_ms // 2


def _setting(text: str) -> tuple[str, str]:
    """A broker setting. Raises BadParameter for an unknown setting or an invalid value."""
    from fakebroker.testing.releases import Settings

    name, equals, value = text.partition("=")
    if not equals:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--config")
    try:
        Settings({name: value}).value(name)
    except FakebrokerError as error:
        raise click.BadParameter(str(error), param_hint="--config") from None
    return name, value


def _names(anonymise: bool, secret_file: Path | None, digits: int) -> "Names":
    """Names as they are, or hashed; says where the secret is from."""
    from fakebroker.analysis.history.compile.anonymise import HashedNames, PlainNames, secret_of

    if not anonymise:
        return PlainNames()
    secret, origin = secret_of(secret_file, Path())
    click.echo(origin, err=True)
    return HashedNames(secret, digits)


def _rows(
    folder: Path, group_id: str, start_ms: int, end_ms: int, source: str | None, choice: EngineChoice
) -> dict[str, list[dict[str, object]]]:
    from fakebroker.analysis.history.compile.group_rows import rows_of_group

    if choice.engine == "embedded":
        return rows_of_group(folder, group_id, start_ms, end_ms, source)
    with running_spark(choice.master, dict(choice.conf)) as spark:
        from fakebroker.analysis.pipeline.spark_engine import SparkEngine

        return rows_of_group(folder, group_id, start_ms, end_ms, source, SparkEngine(spark))


def _write(out: Path, text: str, *, passes: bool) -> Path:
    """Write the scenario and, if it passes, its transcript; one that does not is kept beside. Returns where it is."""
    path = out if passes else out.with_suffix(".failed.yaml")
    write_whole(path, text)
    if passes:
        from fakebroker.scenarios.running.run import Task, play

        outcome = play(Task(str(path), approves=True))
        if not outcome.is_good:
            raise FakebrokerError(f"{path} does not pass: {outcome.status.value} {' '.join(outcome.errors)}")
    return path
