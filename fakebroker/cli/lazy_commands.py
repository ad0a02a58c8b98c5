"""Groups of commands: listed with whole sentences, and imported only when they are used."""

from importlib import import_module
from typing import Any

import click


class Commands(click.Group):
    """A group that lists its commands with the first paragraph of their help, which click would cut."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        names = self.list_commands(ctx)
        rows = [(name, summary_of(command)) for name in names if (command := self.get_command(ctx, name))]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


def summary_of(command: click.Command) -> str:
    """The first paragraph of a command's help."""
    return " ".join((command.help or "").strip().partition("\n\n")[0].split())


class LazyCommands(Commands):
    """A group that has, beside commands of its own, some by where they are: name -> (module, attribute)."""

    elsewhere: dict[str, tuple[str, str]] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *self.elsewhere]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.elsewhere:
            return super().get_command(ctx, cmd_name)
        module, attribute = self.elsewhere[cmd_name]
        command: Any = getattr(import_module(module), attribute)
        return command  # type: ignore[no-any-return]
