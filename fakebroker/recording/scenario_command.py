"""`fakebroker scenario from FILE`: a recorded session as a scenario."""

import sys
from pathlib import Path

import click

from fakebroker.scenario.command_output import check_is_new, told_in_a_line, write_whole


@click.command("from")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="X.yaml", help="[default: FILE's name]")
@click.option("--force", is_flag=True, help="Overwrite the file.")
def from_session(file: Path, out: Path | None, force: bool) -> None:
    """Make a scenario of a session that `fakebroker record` wrote: what its clients did, to be read and changed.

    It is played once: what fakebroker does otherwise than the recorded broker is not expected but remarked. Exits with
    1 if it does not pass even so, with 2 if the file is no session.
    """
    from fakebroker.recording.scenario_file import written
    from fakebroker.recording.to_scenario import scenario_of
    from fakebroker.scenario.running.run import Task, play

    path = out or file.with_suffix(".yaml")
    with told_in_a_line(path):
        check_is_new(path, force=force)
        found = written(scenario_of(file), file.name)
        write_whole(path, found.text)
        if not found.problems:
            play(Task(str(path), approves=True))
    for problem in found.problems:
        click.echo(f"it does not pass: {problem}", err=True)
    click.echo(f"wrote {path} and its transcript\nplay it: fakebroker scenario run {path}")
    sys.exit(1 if found.problems else 0)
