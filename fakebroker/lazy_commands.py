"""Groups of commands that are imported only when they are used, so that the others start fast."""

from importlib import import_module
from typing import Any

import click


class LazyCommands(click.Group):
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
