"""`fakebroker journal`: what can be done with journal files."""

import signal
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from fakebroker.errors import FakebrokerError, InvalidArgument
from fakebroker.journal.lines import row_text
from fakebroker.journal.saved import SavedJournal, load
from fakebroker.journal.schema import KINDS

if TYPE_CHECKING:
    from fakebroker.control.door import Door

_files = click.argument("files", nargs=-1, required=True, metavar="FILES...")
_output = click.option("--out", "out", required=True, metavar="FILE", help="The file to write.")


@click.group()
def journal() -> None:
    """Look at journals, files or directories, that `serve --journal DIR` or `broker.journal.save(path)` wrote."""


@journal.command()
@_files
@click.option("--kind", help="Only lines of this kind: request, transition, ...")
@click.option("--client", help="Only requests of this client id.")
@click.option("--group", help="Only what names this group.")
def show(files: tuple[str, ...], kind: str | None, client: str | None, group: str | None) -> None:
    """Print each line in words, with its number, its time of day and its client."""
    saved = _load(files)
    if kind is not None:
        _check_kind(kind)
    for row in saved.rows:
        is_wanted = (
            (kind is None or row["kind"] == kind)
            and (client is None or row["client"] == client)
            and (group is None or group in (row.get("group"), *row.get("groups", ())))
        )
        if is_wanted:
            click.echo(_line(row))
    if saved.torn:
        click.echo(f"{saved.torn} last lines were torn and left out", err=True)


@journal.command()
@click.argument("one")
@click.argument("other")
def diff(one: str, other: str) -> None:
    """Print how two journals differ, client by client and group by group; status 1 if they do."""
    from fakebroker.journal.diff import diff as compare

    found = compare(_load([one]), _load([other]))
    click.echo(str(found))
    if not found.is_same:
        raise SystemExit(1)


@journal.command()
@_files
@_output
def trace(files: tuple[str, ...], out: str) -> None:
    """Write a timeline for https://ui.perfetto.dev or chrome://tracing."""
    from fakebroker.journal.trace import write_trace

    _write(lambda: write_trace(_one_run(_load(files)), out))


@journal.command()
@_files
@_output
def pcap(files: tuple[str, ...], out: str) -> None:
    """Write the messages as a network capture for Wireshark. Records are blank: files keep only their sizes."""
    from fakebroker.journal.from_rows import entries_of
    from fakebroker.journal.pcap import write_pcap

    _write(lambda: write_pcap(entries_of(_one_run(_load(files))), out))


@journal.command()
@_files
@click.option(
    "--listen", default="0", metavar="[HOST:]PORT",
    help="Where; without a host on 127.0.0.1. [default: a free port]",
)  # fmt: skip
def view(files: tuple[str, ...], listen: str) -> None:
    """Show the journal in a browser, as the page of a running broker shows its own. Prints where; Ctrl-C ends it.

    It needs the extra `control`. On an address that other hosts reach it has a token.
    """
    import asyncio

    from fakebroker.control.door import Door

    rows = _one_run(_load(files))
    try:
        door = Door(listen, None, "listen")
    except (FakebrokerError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"--listen {listen}: {error.strerror or error}") from None
    asyncio.run(_view(rows, ", ".join(files), door))


async def _view(rows: list[dict[str, Any]], source: str, door: "Door") -> None:
    """Serve until a signal."""
    import asyncio

    from fakebroker.control.saved_app import SavedApp

    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await door.serve(SavedApp(rows, source, door.token))
    click.echo(f"{source} on {door.page}")
    await stop.wait()
    await door.close()


def _check_kind(kind: str) -> None:
    """Say which kinds there are: a misspelt one would look like a journal without such lines."""
    if kind not in KINDS:
        raise click.ClickException(f"--kind {kind!r}: there is no such kind, only {', '.join(sorted(KINDS))}")


def _load(files: Any) -> SavedJournal:
    try:
        return load(*files)
    except (InvalidArgument, OSError) as error:
        raise click.ClickException(str(error)) from None


def _write(write: Any) -> None:
    try:
        write()
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from None


def _one_run(saved: SavedJournal) -> list[dict[str, Any]]:
    """The lines of the only run: monotonic times of several have nothing to do with each other."""
    runs = list(dict.fromkeys(row["run"] for row in saved.rows))
    if len(runs) > 1:
        raise click.ClickException(f"these files are of {len(runs)} runs; take those of one: {', '.join(runs)}")
    return saved.rows


def _line(row: dict[str, Any]) -> str:
    when = datetime.fromtimestamp(row["wall_ms"] / 1000, UTC).isoformat(" ", "milliseconds").removesuffix("+00:00")
    who = f"{row['client']}: " if row["client"] is not None else ""
    waited = f" after {row['waited_ms']} ms" if row.get("waited_ms") else ""
    return f"#{row['seq']} {when} {who}{row_text(row)}{waited}"
