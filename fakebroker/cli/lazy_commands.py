"""Groups of commands: listed with whole sentences, and imported only when they are used."""

from importlib import import_module
from typing import Any

import click

from fakebroker.protocol.errors import nearest


class Commands(click.Group):
    """A group that lists its commands with the first paragraph of their help, which click would cut.

    An unknown command is answered with the ones that are spelt like it, here and in all groups below.
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, which knows no command that is imported or made when it is asked for."""
        word = args[0]
        if word[:1].isalnum() and not ctx.resilient_parsing and self.get_command(ctx, word) is None:
            ctx.fail(f"no such command {word!r}; {self.hint(ctx, word)}")
        return super().resolve_command(ctx, args)

    def hint(self, ctx: click.Context, word: str) -> str:
        """What is right instead of a command that does not exist."""
        return nearest(word, self.list_commands(ctx), f"`{ctx.command_path} --help` lists them")

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
