"""`fakebroker clone`: topics, groups and offsets of a running Kafka as a snapshot."""

import shutil
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from fakebroker.cli.commands.kafka_options import kafka_options
from fakebroker.cli.exit_status import CommandError, errors_end_the_command
from fakebroker.client.security import ClientConfig
from fakebroker.protocol.errors import InvalidArgument, Unavailable

if TYPE_CHECKING:
    from fakebroker.testing.clone.cloning import Cloned, Progress
    from fakebroker.testing.clone.options import CloneOptions

_TELL_EACH_S: Final = 1.0


@click.command()
@kafka_options("--from", "Address of the Kafka cluster to clone.", required=True)
@click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Snapshot file to write.",
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option("--restart", is_flag=True, help="Discard an unfinished clone into FILE instead of resuming it.")
@click.option("--topics", multiple=True, metavar="PATTERN", help="Topics to clone, with * and ?. Repeatable.")
@click.option("--groups", multiple=True, metavar="PATTERN", help="Groups to clone, with * and ?. Repeatable.")
@click.option(
    "--records", "last_records", type=click.IntRange(1), metavar="N", help="Clone the last N records per partition."
)
@click.option("--since", metavar="TIME", help="Clone the records from this time on: ISO 8601 with a time zone.")
@click.option("--without-payloads", is_flag=True, help="Replace values by zeros and hash keys; keep sizes and times.")
@click.option("--anonymise", is_flag=True, help="Hash the names of topics and groups; leave out members.")
@click.option(
    "--secret-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Secret for hashes. [default: FAKEBROKER_SECRET, or .fakebroker-secret]",
)
def clone(out: Path, force: bool, restart: bool, secret_file: Path | None, **options: Any) -> None:
    """Copy topics, groups and committed offsets of a running Kafka to a file.

    FILE is a snapshot: `fakebroker serve --from FILE` starts with it. The cluster is only read. Without --records or
    --since the clone has no records; partitions keep their start and end offsets. A clone that was interrupted resumes
    when the command is run again.
    """
    from fakebroker.client.cluster.cluster_client import ClusterClient
    from fakebroker.testing.clone.cloning import clone as clone_kafka
    from fakebroker.testing.clone.cloning import work_folder_of

    source: ClientConfig = options.pop("from")
    if out.exists() and not force:
        raise CommandError(f"--out: {out} exists; --force overwrites it")
    if not out.parent.is_dir():
        raise CommandError(f"--out: the folder {out.parent} does not exist; make it first")
    folder = work_folder_of(out)
    with errors_end_the_command():
        if restart and folder.exists():
            shutil.rmtree(folder)
        chosen = _options(secret_file, **options)
        with ClusterClient(source.bootstrap, security=source.security) as cluster:
            try:
                cloned = clone_kafka(cluster, chosen, out, _Shown().tell)
            except Unavailable as error:
                raise _resumable(error, folder) from None
    _note_no_match("topic", chosen.topics, cloned.topics)
    _note_no_match("group", chosen.groups, cloned.groups)
    _summarize(out, cloned)


def _options(
    secret_file: Path | None,
    *,
    topics: tuple[str, ...],
    groups: tuple[str, ...],
    last_records: int | None,
    since: str | None,
    without_payloads: bool,
    anonymise: bool,
) -> "CloneOptions":
    """What the options of the command say. Raises InvalidArgument, FakebrokerError."""
    from fakebroker.testing.clone.options import CloneOptions

    if last_records is not None and since is not None:
        raise click.UsageError("--records and --since are mutually exclusive")
    if without_payloads and last_records is None and since is None:
        raise click.UsageError("--without-payloads needs --records or --since: the clone has no records")
    if secret_file is not None and not (without_payloads or anonymise):
        raise click.UsageError("--secret-file needs --anonymise or --without-payloads")
    secret = _secret(secret_file) if without_payloads or anonymise else b""
    since_ms = None if since is None else _time_ms(since)
    return CloneOptions(topics, groups, last_records, since_ms, without_payloads, anonymise, secret)


def _secret(file: Path | None) -> bytes:
    """The secret of the project, as of `fakebroker history compile`; says where it is from."""
    from fakebroker.analysis.history.compile.anonymise import check_secret, secret_of

    secret, origin = secret_of(file, Path())
    check_secret(secret)
    click.echo(origin, err=True)
    return secret


def _time_ms(text: str) -> int:
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidArgument("since", text, f"{text!r} is not a time like 2026-03-01T10:00Z") from None
    if when.utcoffset() is None:
        raise InvalidArgument("since", text, f"{text!r} has no time zone: add Z for UTC")
    return round(when.timestamp() * 1000)


def _resumable(error: Unavailable, folder: Path) -> Unavailable:
    """The error, with what is done already."""
    if not folder.exists():
        return error
    return Unavailable(f"{error}; what was cloned is kept in {folder}, and the same command resumes")


class _Shown:
    """Progress on standard error, a line each second."""

    def __init__(self) -> None:
        self._due_s = time.monotonic() + _TELL_EACH_S

    def tell(self, progress: "Progress") -> None:
        """Show a line if it is time."""
        if time.monotonic() >= self._due_s:
            click.echo(f"{progress.what}: {progress.done} of {progress.total}", err=True)
            self._due_s = time.monotonic() + _TELL_EACH_S


def _note_no_match(noun: str, patterns: Sequence[str], count: int) -> None:
    if patterns and not count:
        click.echo(f"note: no {noun} matches {' or '.join(map(repr, patterns))}")


def _summarize(out: Path, cloned: "Cloned") -> None:
    for problem in cloned.problems:
        click.echo(f"note: {problem}")
    click.echo(
        f"{out}: {_count(cloned.topics, 'topic')} with {_count(cloned.partitions, 'partition')}, "
        f"{_count(cloned.groups, 'group')} with {_count(cloned.offsets, 'committed offset')}, "
        f"{_count(cloned.records, 'record')}"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
