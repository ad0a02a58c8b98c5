"""`fakebroker history decode`: a history of `__consumer_offsets` and `__transaction_state` becomes tables."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from fakebroker.analysis.pipeline.contract import KEY_CHECK
from fakebroker.cli.commands.engine_options import EngineChoice, chosen_engine, engine_options
from fakebroker.cli.commands.kafka_options import kafka_options
from fakebroker.cli.commands.tables_option import tables_option
from fakebroker.cli.commands.work import reading_kafka, reading_logs
from fakebroker.client.security import ClientConfig

if TYPE_CHECKING:
    from fakebroker.analysis.pipeline.distinct_records import DecodedOptions
    from fakebroker.analysis.pipeline.engines import Engine
    from fakebroker.analysis.pipeline.progress import Progress
    from fakebroker.analysis.pipeline.publish import Staging

_FROM_DECODED: Final = ("coordinator_records", "rejects", "commits")


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1)
@tables_option
@click.option("--source", metavar="NAME", help="Name of the log, to tell clusters apart.")
@kafka_options("--bootstrap", "Read from a running Kafka cluster instead of files; changes nothing.")
@engine_options
def decode(
    paths: tuple[str, ...], tables: Path, source: str | None, bootstrap: ClientConfig | None, choice: EngineChoice
) -> None:
    """Decode histories of __consumer_offsets into tables.

    PATHs are log segments, a broker's data directory (__transaction_state, too), Parquet or JSON lines of a
    sink, or folders of these;
    with Spark also URLs such as s3a://dump/__consumer_offsets/*.parquet.
    """
    if bool(paths) == bool(bootstrap):
        raise click.UsageError("give either PATHs or --bootstrap")
    if not _is_utf_8(source or ""):
        raise click.BadParameter(f"{source!r} is not UTF-8", param_hint="--source")
    with chosen_engine(choice, reading_kafka if bootstrap else reading_logs(paths)) as (engine, progress):
        from fakebroker.analysis.pipeline.publish import ChecksFailed

        asked = _Asked(engine, progress, tables, paths, source, bootstrap)
        try:
            summary = _publish(asked, may_repeat=False)
        except ChecksFailed as failed:
            if not any(each.check.name == KEY_CHECK for each in failed.failed):
                raise
            click.echo("the segments of a folder repeat a record: decoding again, comparing all records", err=True)
            summary = _publish(asked, may_repeat=True)
        click.echo(summary)


def _is_utf_8(text: str) -> bool:
    """Whether an argument was UTF-8 on the command line: Python keeps other bytes as surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


class _Asked(NamedTuple):
    """What is to be decoded, to where, by which engine."""

    engine: "Engine"
    progress: "Progress"
    tables: Path
    paths: tuple[str, ...]
    source: str | None
    kafka: ClientConfig | None


def _publish(asked: _Asked, *, may_repeat: bool) -> str:
    """Make and publish the tables; returns a summary of them. Raises FakebrokerError.

    With `may_repeat` two rows may be of one record even if the names of the files say otherwise: damage does that.
    """
    from fakebroker.analysis.history.reading import SOURCE
    from fakebroker.analysis.history.transaction_frames import transaction_frames
    from fakebroker.analysis.pipeline.build import FROM_LOG, OF_RETENTION, make_tables
    from fakebroker.analysis.pipeline.engines import contract_of
    from fakebroker.analysis.pipeline.publish import staging
    from fakebroker.analysis.pipeline.summary import summary

    _, _, tables, paths, source, kafka = asked
    with staging(asked.engine, tables, asked.progress) as stage:
        frames: dict[str, Any] = {}
        frames["decoded"], rows_in, options = _decoded(stage, paths, source, kafka, may_repeat=may_repeat)
        frames["transaction_log"], rejects, of_transactions = transaction_frames(stage, paths, kafka, source or SOURCE)
        if rejects:
            found = stage.engine.frame(contract_of("decoded"), rejects)
            frames["decoded"] = stage.engine.union([frames["decoded"], found])
        make_tables(stage, _FROM_DECODED, frames, options)
        make_tables(stage, [name for name in FROM_LOG if name not in _FROM_DECODED], frames)
        if kafka:
            _store_log_ends(stage, frames, source, kafka)
        stage.drop(OF_RETENTION)
        made = stage.made
        about = {
            "rows_in": rows_in + of_transactions,
            "rejected": made["rejects"],
            "paths": [kafka.bootstrap] if kafka else list(paths),
        }
        return summary(tables, stage.publish(about), made)


def _decoded(
    stage: "Staging", paths: tuple[str, ...], source: str | None, kafka: ClientConfig | None, *, may_repeat: bool
) -> "tuple[Any, int, DecodedOptions | None]":
    """The rows of `decoded` that tables are to be made of, how many were read, and for Spark what is known of them."""
    if stage.engine.name == "embedded":
        return *stage.keep("decoded", _rows(paths, source, kafka)), None
    from fakebroker.analysis.history.decode_on_spark import decoded_on_spark

    return decoded_on_spark(stage, paths, kafka, source, may_repeat=may_repeat)


def _rows(paths: tuple[str, ...], source: str | None, kafka: ClientConfig | None) -> Any:
    if kafka is None:
        from fakebroker.analysis.history.reading import HistoryError, has_scheme, read_history

        if urls := [path for path in paths if has_scheme(path)]:
            raise HistoryError(f"{urls[0]}: files with a scheme are read by Spark: use --engine spark")
        return read_history(paths, source=source)
    from fakebroker.analysis.history.decode import decode_all
    from fakebroker.analysis.history.live import read_live
    from fakebroker.analysis.history.reading import SOURCE

    return decode_all(read_live(kafka, source or SOURCE))


def _store_log_ends(stage: "Staging", frames: dict[str, Any], source: str | None, kafka: ClientConfig) -> None:
    """Ask the live Kafka for the ends of the logs that were committed for, and make the table of them."""
    from fakebroker.analysis.history.live import live_ends
    from fakebroker.analysis.history.reading import SOURCE
    from fakebroker.analysis.pipeline.build import make_tables
    from fakebroker.analysis.pipeline.engines import contract_of

    partitions = _committed_partitions(stage, frames["commits"])
    rows = live_ends(kafka, partitions, source=source or SOURCE, at_ms=time.time_ns() // 1_000_000)
    frames["live_ends"] = stage.engine.frame(contract_of("live_ends"), rows)
    make_tables(stage, ["log_ends"], frames)


def _committed_partitions(stage: "Staging", commits: Any) -> set[tuple[str, int]]:
    if stage.engine.name == "embedded":
        return {(row["topic"], row["partition"]) for row in stage.engine.rows(commits)}
    found = commits.select("topic", "partition").distinct().collect()
    return {(row["topic"], row["partition"]) for row in found}
