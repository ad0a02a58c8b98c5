"""`fakebroker scenario from FILE`: a recorded session as a scenario."""

from pathlib import Path

import click

from fakebroker.cli.commands.scenario_output import check_is_new, write_whole
from fakebroker.cli.exit_status import ExitStatus, errors_end_the_command


@click.command("from")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="X.yaml",
    help="Scenario file to write. [default: the name of FILE]",
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def from_session(file: Path, out: Path | None, force: bool) -> None:
    """Make a scenario from a session that `fakebroker record` wrote.

    The scenario has the steps of the recorded clients, to be read and changed. It is played once before it is written:
    where fakebroker differs from the recorded broker, a comment says so instead of an expectation.
    """
    from fakebroker.scenarios.recording.scenario_file import written
    from fakebroker.scenarios.recording.to_scenario import scenario_of
    from fakebroker.scenarios.running.run import Task, play

    path = out or file.with_suffix(".yaml")
    with errors_end_the_command():
        check_is_new(path, force=force)
        found = written(scenario_of(file), file.name)
        write_whole(path, found.text)
        if not found.problems:
            play(Task(str(path), approves=True))
    for problem in found.problems:
        click.echo(f"the scenario does not pass: {problem}", err=True)
    click.echo(f"wrote {path} and its transcript\nplay it: fakebroker scenario run {path}")
    if found.problems:
        raise SystemExit(ExitStatus.FAILED)
