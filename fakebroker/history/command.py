"""`fakebroker history`: what `__consumer_offsets` remembers, as tables, questions and scenarios."""

import click

from fakebroker.lazy_commands import LazyCommands


class _Commands(LazyCommands):
    """The commands, in the order in which they are used."""

    elsewhere = {
        "decode": ("fakebroker.history.decode_command", "decode"),
        "whatif": ("fakebroker.history.whatif_command", "whatif"),
        "compile": ("fakebroker.history.compile_command", "compile_history"),
    }


@click.group(cls=_Commands)
def history() -> None:
    """Analyse a history of `__consumer_offsets`.

    Needs the extra `history`, or `spark` for --engine spark.
    """
