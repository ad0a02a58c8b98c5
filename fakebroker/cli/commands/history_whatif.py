"""`fakebroker history whatif`: who would lose offsets with another retention, when, and how many."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from fakebroker.analysis.pipeline.expiry_cases import POLICIES
from fakebroker.analysis.pipeline.tables.retention_losses import WhatifOptions
from fakebroker.broker.engine.printable import printable
from fakebroker.cli.choice import Choice
from fakebroker.cli.commands.engine_options import EngineChoice, chosen_engine, engine_options
from fakebroker.cli.commands.tables_option import TablesDir, tables_option
from fakebroker.cli.commands.work import asking_what_if
from fakebroker.protocol.durations import UNITS_MS, duration_ms

if TYPE_CHECKING:
    _ParamType = click.ParamType[Any]
else:  # no class with parameters before click 8.4
    _ParamType = click.ParamType

_MINUTE_MS: Final = UNITS_MS["m"]
_READ: Final = ("commits", "group_states")
_MAX_SHOWN: Final = 10  # groups in what is printed
_LONGEST_MS: Final = 2**31 * _MINUTE_MS  # what `offsets.retention.minutes` can hold


class _Lost(NamedTuple):
    """How many offsets a group would lose, and how many of them it would have been reset by."""

    offsets: int
    reset: int


class Duration(_ParamType):
    """A time such as 7d, 12h or 1h 30m, in whole minutes; a number of milliseconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The milliseconds. Fails for an invalid time, and for one that a broker cannot have."""
        if isinstance(value, int):
            return value
        try:
            ms = duration_ms(str(value))
        except ValueError as error:
            self.fail(f"{value!r} {error}", param, ctx)
        if ms == 0 or ms % _MINUTE_MS:
            self.fail(f"{value!r} is not a time of whole minutes, like 7d, 12h or 90m", param, ctx)
        if ms >= _LONGEST_MS:
            self.fail(f"{value} is longer than the longest retention of a broker", param, ctx)
        return ms


class Durations(Duration):
    """Several times, between commas."""

    name = "durations"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The milliseconds of each, each once."""
        if isinstance(value, tuple):
            return value
        return tuple(sorted({Duration.convert(self, each, param, ctx) for each in str(value).split(",")}))


@click.command()
@tables_option
@click.option(
    "--retention", "retentions", type=Durations(), default="1d,3d,7d,14d", show_default=True, metavar="TIME,...",
    help="Retentions to try.",
)  # fmt: skip
@click.option(
    "--out", type=TablesDir(), metavar="DIR", help="Directory for the two tables of losses. [default: that of --tables]"
)
@click.option(
    "--recorded-retention", type=Duration(), default="7d", show_default=True, metavar="TIME",
    help="Recorded retention: tombstones that it explains count as expiry.",
)  # fmt: skip
@click.option(
    "--check-interval", type=Duration(), default="10m", show_default=True, metavar="TIME",
    help="Time between two cleanups.",
)  # fmt: skip
@click.option(
    "--policy", type=Choice(POLICIES), default="4.3", show_default=True,
    help="Kafka version whose expiry rules apply.",
)  # fmt: skip
@engine_options
def whatif(
    tables: Path,
    retentions: tuple[int, ...],
    out: Path | None,
    recorded_retention: int,
    check_interval: int,
    policy: str,
    choice: EngineChoice,
) -> None:
    """Show which groups would lose committed offsets under other retentions.

    `history decode`, or `pipeline ingest` and `pipeline build`, make the tables.
    """
    target = tables if out is None else out
    options = WhatifOptions(retentions, recorded_retention, check_interval, policy=policy)
    with chosen_engine(choice, asking_what_if(tables, _READ)) as (engine, progress):
        from fakebroker.analysis.pipeline.engines import contract_of, tables_needed
        from fakebroker.analysis.pipeline.publish import Published, staging
        from fakebroker.analysis.pipeline.summary import summary
        from fakebroker.protocol.errors import FakebrokerError

        published = Published(tables)
        for name in _READ:
            if not published.has(name):
                raise FakebrokerError(f"{tables} has no table {name}: `history decode` and `pipeline build` make it")
        with staging(engine, target, progress) as stage:
            frames = {
                name: engine.load(contract_of(name), published.folder_of(name))
                for name in tables_needed("retention_losses")
                if published.has(name)
            }
            for name in ("retention_losses", "retention_whatif"):
                frames[name] = stage.make(name, frames, options)
            rows_in = {name: published.tables[name]["rows"] for name in _READ}
            manifest = stage.publish({"of": str(tables), "options": options._asdict()})
        for line in _without_times(published.folder_of("commits")):
            click.echo(line)
        click.echo(_losses_text(target, retentions))
        click.echo("rows in: " + ", ".join(f"{name} {rows:,}" for name, rows in rows_in.items()))
        click.echo(summary(target, manifest, stage.made))


def _without_times(commits: Path) -> list[str]:
    """A line about the commits whose records have no time, if there are any: their losses cannot be trusted."""
    import pyarrow.dataset as ds

    is_blank = (ds.field("outcome") == "committed") & ds.field("applied_at").is_null()
    count = ds.dataset(commits, format="parquet").count_rows(filter=is_blank)
    if not count:
        return []
    return [f"{count:,} commits have no record time; they get the time of the commits before them"]


def _losses_text(folder: Path, retentions_ms: Sequence[int]) -> str:
    """The groups that would lose most, a line each, with a column for each retention."""
    lost = _losses(folder)
    if not lost:
        return "no group would lose an offset with any of these retentions"
    order = sorted(lost, key=lambda group: (-sum(each.offsets for each in lost[group].values()), group))
    headings = ["group", *map(_span, retentions_ms)]
    shown = order[:_MAX_SHOWN]
    rows = [[printable(group), *(_cell(lost[group].get(each)) for each in retentions_ms)] for group in shown]
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in [headings, *rows]]
    if len(order) > _MAX_SHOWN:
        lines.append(f"... and {len(order) - _MAX_SHOWN} more groups")
    return "\n".join(["offsets lost (met by a group that came back):", *lines])


def _losses(folder: Path) -> dict[str, dict[int, _Lost]]:
    """What each group would lose with each retention, of all sources together; only what loses something."""
    from fakebroker.analysis.pipeline.duckdb_engine import DuckEngine
    from fakebroker.analysis.pipeline.publish import Published

    rows = DuckEngine().asked(
        """
        SELECT
            group_id, retention_ms, CAST(SUM(lost_offsets) AS BIGINT) AS offsets,
            CAST(SUM(reset_offsets) AS BIGINT) AS reset
        FROM retention_whatif WHERE lost_offsets > 0 GROUP BY group_id, retention_ms
        """,
        {"retention_whatif": [Published(folder).folder_of("retention_whatif")]},
    )
    lost: dict[str, dict[int, _Lost]] = {}
    for row in rows:
        lost.setdefault(row["group_id"], {})[row["retention_ms"]] = _Lost(row["offsets"], row["reset"])
    return lost


def _cell(lost: _Lost | None) -> str:
    return "-" if lost is None else f"{lost.offsets:,} ({lost.reset:,})"


def _span(ms: int) -> str:
    """7d, 36h, 90m: the largest unit that divides it."""
    unit = next(each for each in ("d", "h", "m", "ms") if ms % UNITS_MS[each] == 0)
    return f"{ms // UNITS_MS[unit]}{unit}"
