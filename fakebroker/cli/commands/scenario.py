"""`fakebroker scenario`: run and check scenario files, begin one, and print the language's JSON Schema."""

from pathlib import Path

import click

from fakebroker.cli.exit_status import CommandError, errors_end_the_command
from fakebroker.cli.lazy_commands import LazyCommands


class _Commands(LazyCommands):
    """The commands, in the order of their names. Those elsewhere need a player."""

    elsewhere = {
        "from": ("fakebroker.cli.commands.scenario_from", "from_session"),
        "run": ("fakebroker.cli.commands.scenario_run", "run"),
    }

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(super().list_commands(ctx))


@click.group(cls=_Commands)
def scenario() -> None:
    """Play and check scenarios: incidents written in YAML.

    Needs the extra `scenario`.
    """


@scenario.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
def check(paths: tuple[str, ...]) -> None:
    """Check scenario files, and all files of folders, without playing them."""
    from fakebroker.scenarios.errors import ScenarioError
    from fakebroker.scenarios.language.reading import find_scenarios, read_scenario

    wrong = 0
    with errors_end_the_command():
        found = find_scenarios(paths)
        for path in found:
            try:
                read_scenario(path)
            except ScenarioError as error:
                wrong += 1
                click.echo(str(error))
            except OSError as error:
                wrong += 1
                click.echo(f"{path}: cannot read it: {error.strerror or error}")
    if wrong:
        raise CommandError(f"{wrong} of {len(found)} files are not valid scenarios")
    click.echo(f"{len(found)} {'file' if len(found) == 1 else 'files'}, all valid")


@scenario.command()
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors."""
    from fakebroker.scenarios.language.json_schema import schema_text

    click.echo(schema_text(), nl=False)


@scenario.command()
@click.argument("name")
@click.option("--dir", "folder", default=".", metavar="FOLDER", help="Folder of the file. [default: the current one]")
@click.option("--schema", "has_schema", is_flag=True, help="Also write the JSON Schema, for completion in editors.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def new(name: str, folder: str, has_schema: bool, force: bool) -> None:
    """Write NAME.yaml, a short scenario that passes, to start from."""
    from fakebroker.scenarios.language.json_schema import schema_text
    from fakebroker.scenarios.language.starter import SCHEMA_FILE, starter_text

    path = Path(folder) / f"{name.removesuffix('.yaml')}.yaml"
    _write_new(path, starter_text(has_schema=has_schema), force)
    click.echo(f"wrote {path}")
    if has_schema:
        _write_new(path.with_name(SCHEMA_FILE), schema_text(), overwrites=True)
        click.echo(f"wrote {path.with_name(SCHEMA_FILE)}")
    click.echo(f"play it: fakebroker scenario run {path}")


def _write_new(path: Path, text: str, overwrites: bool) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w" if overwrites else "x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        if path.exists() and not overwrites:
            raise CommandError(f"{path} already exists; --force overwrites it") from None
        raise CommandError(f"cannot write {path}: {error.strerror or error}") from None
