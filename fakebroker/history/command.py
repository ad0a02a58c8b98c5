"""`fakebroker history`: what `__consumer_offsets` remembers, as tables, questions and scenarios."""

import click

from fakebroker.lazy_commands import LazyCommands


class _Commands(LazyCommands):
    """The commands, in the order in which they are used."""

    elsewhere: dict[str, tuple[str, str]] = {
        "decode": ("fakebroker.history.decode_command", "decode"),
        "whatif": ("fakebroker.history.whatif_command", "whatif"),
        "compile": ("fakebroker.history.compile_command", "compile_history"),
    }


@click.group(cls=_Commands)
def history() -> None:
    """The history of `__consumer_offsets` (docs/history.md). Needs the extra `history`, with Spark `spark`."""
