"""`fakebroker history`: what `__consumer_offsets` remembers, as tables, questions and scenarios."""

import click

from fakebroker.cli.lazy_commands import LazyCommands


class _Commands(LazyCommands):
    """The commands, in the order in which they are used."""

    elsewhere = {
        "decode": ("fakebroker.cli.commands.history_decode", "decode"),
        "whatif": ("fakebroker.cli.commands.history_whatif", "whatif"),
        "compile": ("fakebroker.cli.commands.history_compile", "compile_history"),
    }


@click.group(cls=_Commands)
def history() -> None:
    """Analyse a history of `__consumer_offsets`.

    Needs the extra `history`, or `spark` for --engine spark.
    """
