"""`fakebroker scenario`: run and check scenario files, begin one, and print the language's JSON Schema."""

from pathlib import Path

import click

from fakebroker.errors import FakebrokerError
from fakebroker.lazy_commands import LazyCommands


class _Commands(LazyCommands):
    """The commands, in the order of their names. Those elsewhere need a player."""

    elsewhere = {
        "from": ("fakebroker.recording.scenario_command", "from_session"),
        "run": ("fakebroker.scenario.running.run_command", "run"),
    }

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(super().list_commands(ctx))


@click.group(cls=_Commands)
def scenario() -> None:
    """Scenarios: incidents written in YAML (docs/scenarios.md). Needs the extra `scenario`."""


@scenario.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
def check(paths: tuple[str, ...]) -> None:
    """Read scenario files, and those in folders, without playing them; say what is wrong with them."""
    from fakebroker.scenario.errors import ScenarioError
    from fakebroker.scenario.language.reading import find_scenarios, read_scenario

    wrong = 0
    try:
        found = find_scenarios(paths)
        for path in found:
            try:
                read_scenario(path)
            except ScenarioError as error:
                wrong += 1
                click.echo(str(error))
            except OSError as error:
                wrong += 1
                click.echo(f"{path}: cannot be read: {error.strerror or error}")
    except FakebrokerError as error:
        raise click.ClickException(str(error)) from None
    if wrong:
        raise click.ClickException(f"{wrong} of {len(found)} files cannot be played")
    click.echo(f"{len(found)} {'file' if len(found) == 1 else 'files'}, nothing wrong")


@scenario.command()
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors and other tools."""
    from fakebroker.scenario.language.json_schema import schema_text

    click.echo(schema_text(), nl=False)


@scenario.command()
@click.argument("name")
@click.option("--dir", "folder", default=".", metavar="FOLDER", help="Where to write it. [default: here]")
def new(name: str, folder: str) -> None:
    """Write NAME.yaml, a short scenario with remarks that passes, to begin with. Overwrites nothing."""
    from fakebroker.scenario.language.starter import starter_text

    path = Path(folder) / f"{name.removesuffix('.yaml')}.yaml"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(starter_text())
    except OSError as error:
        if path.exists():
            raise click.ClickException(f"{path} is there already") from None
        raise click.ClickException(f"cannot write {path}: {error.strerror or error}") from None
    click.echo(f"wrote {path}\nplay it, and keep its transcript: fakebroker scenario run {path} --approve")
