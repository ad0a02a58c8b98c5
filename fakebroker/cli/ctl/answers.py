"""Answers of the HTTP API in a shell: texts, tables, JSON, files, streams."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from fakebroker.cli.ctl.tables import text_of
from fakebroker.cli.exit_status import CommandError, ExitStatus


def show(media_type: str, text: str, as_json: bool) -> None:
    """Print an answer: a text as it is, JSON as a table, or on one line if it is for a program."""
    if media_type == "application/json":
        data = json.loads(text)
        text = json.dumps(data) if as_json else text_of(data, is_terminal=sys.stdout.isatty())
    if text:
        click.echo(text.rstrip("\n"))


def judge(text: str, as_json: bool) -> None:
    """Print what came of a scenario. Raises SystemExit with status 1 for one that is over and did not pass."""
    from fakebroker.scenarios.running.play_text import text_of as transcript_of

    scenario = json.loads(text)
    click.echo(json.dumps(scenario) if as_json else transcript_of(scenario).rstrip("\n"))
    if scenario["state"] not in ("playing", "passed"):
        raise SystemExit(ExitStatus.FAILED)


def put_file(data: bytes, out: str | None) -> None:
    """Write an answer as it is to the file `out`, or to standard output. Raises CommandError if that fails."""
    if out is None:
        click.echo(data, nl=False)
        return
    try:
        Path(out).write_bytes(data)
    except OSError as error:
        raise CommandError(f"{out} cannot be written: {error.strerror}") from None


def follow(lines: Iterable[str]) -> None:
    """Print the data of server-sent events as they come, until Ctrl-C. Raises CommandError when the broker stops."""
    event = ""
    try:
        for line in lines:
            key, _, value = line.partition(": ")
            if key == "event":
                event = value
            elif key == "data" and event == "end":
                raise CommandError(json.loads(value), ExitStatus.FAILED)
            elif key == "data":
                click.echo(value)
    except KeyboardInterrupt:
        return
