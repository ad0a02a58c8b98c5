"""docs/reference/cli.md: the commands, and the table of their exit statuses, from the commands themselves."""

from collections.abc import Iterator

import click

from fakebroker.cli.exit_status import MEANINGS
from fakebroker.cli.lazy_commands import summary_of
from fakebroker.cli.main import main

_INTRODUCTION = """\
Every command has `-h`; `fakebroker --version` prints the version. Options that may be repeated say so.

- `--listen 31001` is port 31001 of 127.0.0.1, and port 0 is a free port.
- `--topic orders` is a topic with one partition, `--topic orders:3` one with three.
- Durations are `8d`, `90s` or `"2 h 30 m"`.
- Completion is click's: `eval "$(_FAKEBROKER_COMPLETE=bash_source fakebroker)"` in `~/.bashrc`, or `zsh_source` and
  `fish_source` for other shells.
- [`fakebroker ctl`](http.md#from-a-shell) controls a running broker. It prints tables, and JSON with `--json`."""


def cli_page(note: str) -> str:
    """The page."""
    lines = ["# The command line", note, "", _INTRODUCTION, "", "## Exit status", ""]
    lines += ["One table for all commands.", "", "| status | meaning |", "|---|---|"]
    lines += [f"| {status.value} | {meaning} |" for status, meaning in MEANINGS.items()]
    lines += [
        "",
        "`fakebroker scenario run` and `fakebroker serve --exit-when-done` end with 1 for a scenario that failed, and",
    ]
    lines += ["with 2 for a file that is not a scenario.", "", "## Commands", "", "| command | |", "|---|---|"]
    lines += [f"| `{' '.join(words)}` | {text} |" for words, text in _commands(main, ("fakebroker",))]
    return "\n".join([*lines, ""])


def _commands(group: click.Group, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The commands below a group; those of `ctl` are one row."""
    ctx = click.Context(group)
    for name in sorted(group.list_commands(ctx)):
        command = group.get_command(ctx, name)
        if isinstance(command, click.Group) and name != "ctl":
            yield from _commands(command, (*words, name))
        elif command is not None:
            yield (*words, name), summary_of(command)
