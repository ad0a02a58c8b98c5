"""`fakebroker journal`: what can be done with journal files."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from fakebroker.cli.exit_status import CommandError, ExitStatus, errors_end_the_command
from fakebroker.cli.lazy_commands import Commands
from fakebroker.protocol.errors import WHERE_KINDS, wrong_name
from fakebroker.testing.journal.lines import row_text
from fakebroker.testing.journal.saved import SavedJournal, load
from fakebroker.testing.journal.schema import KINDS

if TYPE_CHECKING:
    from fakebroker.cli.http.control_port import ControlPort

_files = click.argument("files", nargs=-1, required=True, metavar="FILES...")
_output = click.option("--out", "out", required=True, metavar="FILE", help="File to write.")


@click.group(cls=Commands)
def journal() -> None:
    """Show, compare and convert journals: files of `serve --journal DIR`."""


@journal.command()
@_files
@click.option("--kind", metavar="KIND", help="Only lines of this kind, such as request or transition.")
@click.option("--client", metavar="CLIENT_ID", help="Only requests of this client id.")
@click.option("--group", metavar="GROUP", help="Only lines that name this group.")
def show(files: tuple[str, ...], kind: str | None, client: str | None, group: str | None) -> None:
    """Print each line in words, with its number, time and client."""
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
        click.echo(f"{saved.torn} incomplete last lines were skipped", err=True)


@journal.command()
@click.argument("one")
@click.argument("other")
def diff(one: str, other: str) -> None:
    """Compare two journals by client and group; exit status 1 if they differ."""
    from fakebroker.testing.journal.diff import diff as compare

    found = compare(_load([one]), _load([other]))
    click.echo(str(found))
    if not found.is_same:
        raise SystemExit(ExitStatus.FAILED)


@journal.command()
@_files
@_output
def trace(files: tuple[str, ...], out: str) -> None:
    """Write a timeline for https://ui.perfetto.dev or chrome://tracing."""
    from fakebroker.testing.journal.trace import write_trace

    _write(lambda: write_trace(_one_run(_load(files)), out))


@journal.command()
@_files
@_output
def pcap(files: tuple[str, ...], out: str) -> None:
    """Write the messages as a network capture for Wireshark.

    Records are blank: a journal keeps only their sizes.
    """
    from fakebroker.testing.journal.from_rows import entries_of
    from fakebroker.testing.journal.pcap import write_pcap

    _write(lambda: write_pcap(entries_of(_one_run(_load(files))), out))


@journal.command()
@_files
@click.option(
    "--listen", default="0", metavar="[HOST:]PORT",
    help="Address of the page. [default: a free port of 127.0.0.1]",
)  # fmt: skip
def view(files: tuple[str, ...], listen: str) -> None:
    """Show the journal in a browser until Ctrl-C.

    Prints the address of the page, which has a token if other hosts can reach it. Needs the extra `control`.
    """
    import asyncio

    from fakebroker.cli.http.control_port import ControlPort

    rows = _one_run(_load(files))
    with errors_end_the_command():
        control_port = ControlPort(listen, None, "listen")
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        runner.run(_view(rows, ", ".join(files), control_port))


async def _view(rows: list[dict[str, Any]], source: str, control_port: "ControlPort") -> None:
    """Serve until a signal."""
    import asyncio

    from fakebroker.cli.http.saved_app import SavedApp
    from fakebroker.platform.signals import call_at_signals

    stop = asyncio.Event()
    call_at_signals(asyncio.get_running_loop(), lambda _: stop.set())
    await control_port.serve(SavedApp(rows, source, control_port.token))
    click.echo(f"{source} on {control_port.page}")
    await stop.wait()
    await control_port.close()


def _check_kind(kind: str) -> None:
    """Refuse an unknown kind: a misspelt one would look like a journal without such lines."""
    if kind not in KINDS:
        raise CommandError(wrong_name("--kind", kind, sorted(KINDS), WHERE_KINDS))


def _load(files: Any) -> SavedJournal:
    with errors_end_the_command():
        return load(*files)


def _write(write: Any) -> None:
    with errors_end_the_command():
        write()


def _one_run(saved: SavedJournal) -> list[dict[str, Any]]:
    """The lines of the only run: monotonic times of several have nothing to do with each other."""
    runs = list(dict.fromkeys(row["run"] for row in saved.rows))
    if len(runs) > 1:
        raise CommandError(f"these files belong to {len(runs)} runs; give the files of one run: {', '.join(runs)}")
    return saved.rows


def _line(row: dict[str, Any]) -> str:
    when = datetime.fromtimestamp(row["wall_ms"] / 1000, UTC).isoformat(" ", "milliseconds").removesuffix("+00:00")
    who = f"{row['client']}: " if row["client"] is not None else ""
    waited = f" after {row['waited_ms']} ms" if row.get("waited_ms") else ""
    return f"#{row['seq']} {when} {who}{row_text(row)}{waited}"
