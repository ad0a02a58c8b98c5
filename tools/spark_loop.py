"""The data pipeline from end to end, on data that brokers made: `make spark`.

Plays random histories on brokers with journals on; then runs the commands of docs/how-to/pipeline.md and
docs/how-to/history.md one after the other: ingest, build, decode, what-if, compile, the compiled scenario, a campaign,
the report. Then it does the same with the other engine and compares every table, and compares what was decoded with
what the brokers knew.

    python -m tools.spark_loop [--engine spark|python] [--histories 6] [--steps 80] [--work DIR] [--once]
"""

import argparse
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from fakebroker.analysis.pipeline.contract import Row
from fakebroker.analysis.pipeline.publish import Published
from fakebroker.analysis.pipeline.rows import read_rows
from fakebroker.analysis.pipeline.tables import table
from fakebroker.cli.main import main
from fakebroker.testing.exchanges.writing import line_of
from tests.support.histories import History, make_history
from tests.support.published import differences

RETENTIONS = "6h,1d,3d,7d,14d"
_LOG = "{:020}.log"


def write_histories(work: Path, count: int, steps: int) -> list[History]:
    """Play histories; write their journals to `work`/journals, and their logs as brokers keep them to `work`/data."""
    histories = [make_history(seed, steps=steps) for seed in range(1, count + 1)]
    (work / "journals").mkdir(parents=True)
    (work / "secret").write_text("the same for all compiled files of this loop\n")
    for history in histories:
        path = work / "journals" / f"{history.run}.jsonl"
        path.write_bytes(b"".join(map(line_of, history.rows)))
        for partition, batches in history.batches.items():
            folder = work / "data" / history.run / f"__consumer_offsets-{partition}"
            folder.mkdir(parents=True)
            (folder / _LOG.format(0)).write_bytes(b"".join(batches))
    return histories


def commands(work: Path, history: History, engine: str) -> Iterator[list[str]]:
    """The commands, in their order. The log that is decoded is the one of `history`."""
    out, by = work / engine, ["--engine", engine]
    pipeline, decoded, whatif = (str(out / name) for name in ("pipeline", "history", "whatif"))
    yield ["pipeline", "ingest", str(work / "journals"), "--tables", pipeline, *by]
    yield ["pipeline", "build", "--tables", pipeline, *by]
    yield ["pipeline", "check", "--tables", pipeline, *by]
    yield ["history", "decode", str(work / "data" / history.run), "--source", history.run, "--tables", decoded, *by]
    yield ["history", "whatif", "--tables", decoded, "--retention", RETENTIONS, "--out", whatif, *by]
    group, around = incident(Path(decoded))
    incident_file = str(out / "incident.yaml")
    yield ["history", "compile", "--tables", decoded, "--group", group, "--around", around, "--anonymise",
           "--secret-file", str(work / "secret"), "--out", incident_file, *by]  # fmt: skip
    yield ["scenario", "run", incident_file]
    keep_or_compare(Path(incident_file), work / "incident.yaml")
    yield ["campaign", "run", str(work / "incident.yaml"), "--seeds", "20", "--tables", str(out / "campaign"), *by]
    folders = [word for each in (pipeline, whatif, str(out / "campaign")) for word in ("--tables", each)]
    yield ["pipeline", "report", *folders, "--out", str(out / "report.html")]


def keep_or_compare(compiled: Path, kept: Path) -> None:
    """Keep the first compiled incident; that of the other engine must be the same text. Raises SystemExit."""
    if not kept.exists():
        kept.write_text(compiled.read_text())
    elif kept.read_text() != compiled.read_text():
        raise SystemExit(f"{compiled} differs from {kept}")


def incident(decoded: Path) -> tuple[str, str]:
    """The classic group with the most commits, and the time of one in their middle."""
    states = read_rows(table("group_states"), decoded / "group_states")
    groups = {row["group_id"] for row in states if row["protocol_type"] == "consumer"}
    commits = [row for row in read_rows(table("commits"), decoded / "commits") if row["group_id"] in groups]
    by_group: dict[str, list[Row]] = {}
    for row in commits:
        by_group.setdefault(row["group_id"], []).append(row)
    group_id, rows = max(by_group.items(), key=lambda each: (len(each[1]), each[0]))
    times = sorted(row["at"] for row in rows)
    return group_id, datetime.fromtimestamp(times[len(times) // 2] / 1000, UTC).isoformat()


def run(command: Sequence[str]) -> None:
    """Run a command as the shell would. Raises SystemExit if it fails."""
    click.echo(f"\n$ fakebroker {shlex.join(command)}")
    try:
        main(list(command), prog_name="fakebroker", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        raise SystemExit(f"failed: fakebroker {shlex.join(command)}") from None
    except SystemExit as end:
        if end.code:
            raise SystemExit(f"failed with exit code {end.code}: fakebroker {shlex.join(command)}") from None


def committed_offsets(decoded: Path) -> dict[tuple[str, str, int], int]:
    """What is committed in the end, by the commits that took effect: the last of each key, unless it is gone."""
    last: dict[tuple[str, str, int], Row] = {}
    rows = read_rows(table("commits"), decoded / "commits")
    applied = [row for row in rows if row["applied_log_offset"] is not None]
    for row in sorted(applied, key=lambda row: row["log_offset"]):  # a marker never brings back what is older
        last[row["group_id"], row["topic"], row["partition"]] = row
    return {key: row["committed_offset"] for key, row in last.items() if row["committed_offset"] is not None}


def known_offsets(history: History) -> dict[tuple[str, str, int], int]:
    """What the broker knew in the end."""
    return {
        (group_id, topic, partition): committed.offset
        for group_id, group in history.groups.items()
        for (topic, partition), committed in group.offsets.items()
    }


def loop(work: Path, engines: Sequence[str], histories: int, steps: int) -> None:
    """Everything, once with each engine. Raises SystemExit where something fails or differs."""
    played = write_histories(work, histories, steps)
    for engine in engines:
        for command in commands(work, played[0], engine):
            run(command)
        if committed_offsets(work / engine / "history") != known_offsets(played[0]):
            raise SystemExit(f"{engine}: what was decoded is not what the broker knew")
    if len(engines) == 2:
        compare(*(work / engine for engine in engines))


def compare(one: Path, other: Path) -> None:
    """Compare all tables that two engines made. Raises SystemExit, with the rows that differ."""
    for folder in ("pipeline", "history", "whatif", "campaign"):
        first, second = Published(one / folder), Published(other / folder)
        if found := differences(first, second):
            raise SystemExit(f"{folder} differs:\n" + "\n".join(found))
        click.echo(f"{folder}: {len(first.tables)} tables are equal, whichever engine made them")


def _main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--engine", choices=["spark", "embedded"], default="spark", help="the one that goes first")
    parser.add_argument("--once", action="store_true", help="only that engine")
    parser.add_argument("--histories", type=int, default=6)
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--work", type=Path, help="where everything is kept; must not be there [default: temporary]")
    given = parser.parse_args()
    other = "embedded" if given.engine == "spark" else "spark"
    engines = [given.engine] if given.once else [given.engine, other]
    if given.work is not None:
        loop(given.work, engines, given.histories, given.steps)
        return
    with tempfile.TemporaryDirectory() as folder:
        loop(Path(folder) / "loop", engines, given.histories, given.steps)


if __name__ == "__main__":
    _main()
