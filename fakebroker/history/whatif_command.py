"""`fakebroker history whatif`: who would lose offsets with another retention, when, and how many."""

import re
from pathlib import Path
from typing import Any, Final

import click

from fakebroker.pipeline.engine_options import EngineChoice, chosen_engine, engine_options
from fakebroker.pipeline.tables.retention_losses import POLICIES, WhatifOptions

_UNITS_MS: Final = {"m": 60_000, "h": 3_600_000, "d": 86_400_000}
_MOST_SHOWN: Final = 10  # groups in what is printed
_LONGEST_MS: Final = 2**31 * 60_000  # what `offsets.retention.minutes` can hold


class Duration(click.ParamType[Any]):
    """A time such as 7d, 12h or 90m, in whole minutes; a number of milliseconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The milliseconds. Fails for what is no time, or none that a broker can be set to."""
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"([1-9]\d*)([mhd])", str(value).strip())
        if found is None:
            self.fail(f"{value!r} is not a time like 7d, 12h or 90m", param, ctx)
        ms = int(found[1]) * _UNITS_MS[found[2]]
        if ms >= _LONGEST_MS:
            self.fail(f"{value} is longer than a broker's retention can be", param, ctx)
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
@click.argument("folder", metavar="DIR")
@click.option(
    "--retention", "retentions", type=Durations(), default="1d,3d,7d,14d", show_default=True, metavar="TIME,...",
    help="The retentions to try.",
)  # fmt: skip
@click.option("--out", required=True, metavar="DIR", help="Where the tables go.")
@click.option(
    "--recorded-retention", type=Duration(), default="7d", show_default=True, metavar="TIME",
    help="The retention under which the history was recorded: what it explains is no deletion.",
)  # fmt: skip
@click.option(
    "--check-interval", type=Duration(), default="10m", show_default=True, metavar="TIME",
    help="The time between two cleanups.",
)  # fmt: skip
@click.option("--policy", type=click.Choice(POLICIES), default="4.3", show_default=True, help="Whose rules of expiry.")
@engine_options
def whatif(
    folder: str,
    retentions: tuple[int, ...],
    out: str,
    recorded_retention: int,
    check_interval: int,
    policy: str,
    choice: EngineChoice,
) -> None:
    """Tell who would lose committed offsets with other retentions (docs/whatif.md).

    DIR has tables that `history decode`, or `pipeline ingest` and `pipeline build`, made.
    """
    options = WhatifOptions(retentions, recorded_retention, check_interval, policy=policy)
    with chosen_engine(choice) as (engine, progress):
        from fakebroker.errors import FakebrokerError
        from fakebroker.pipeline.engines import contract_of, make, tables_needed
        from fakebroker.pipeline.publish import Published, staging
        from fakebroker.pipeline.summary import summary

        published = Published(Path(folder))
        for name in ("commits", "group_states"):
            if not published.has(name):
                raise FakebrokerError(f"{folder} has no table {name}: `history decode` and `pipeline build` make it")
        with staging(engine, Path(out), progress) as stage:
            frames = {
                name: engine.load(contract_of(name), published.folder_of(name))
                for name in tables_needed(engine, "retention_losses")
                if published.has(name)
            }
            for name in ("retention_losses", "retention_whatif"):
                frames[name] = stage.store(name, make(engine, name, frames, options))
            rows_in = {name: published.tables[name]["rows"] for name in ("commits", "group_states")}
            manifest = stage.publish({"of": folder, "options": options._asdict()})
            lines = [*_without_times(published.folder_of("commits")), _told(Path(out), options)]
        click.echo("\n".join(lines))
        click.echo("rows in: " + ", ".join(f"{name} {rows:,}" for name, rows in rows_in.items()))
        click.echo(summary(Path(out), manifest, stage.made))


def _without_times(commits: Path) -> list[str]:
    """A line about the commits whose records have no time, if there are any: their losses cannot be trusted."""
    import pyarrow.dataset as ds

    is_blank = (ds.field("outcome") == "committed") & ds.field("applied_at").is_null()
    count = ds.dataset(commits, format="parquet").count_rows(filter=is_blank)
    if not count:
        return []
    return [f"{count:,} commits have no time of their records: they are taken to be of the time of those before them"]


def _told(out: Path, options: WhatifOptions) -> str:
    """The groups that would lose most, with each retention."""
    import pyarrow.dataset as ds

    columns = ["group_id", "retention_ms", "lost_offsets", "reset_offsets"]
    data = ds.dataset(out / "retention_whatif", format="parquet").to_table(
        columns=columns, filter=ds.field("lost_offsets") > 0
    )
    lost: dict[str, dict[int, tuple[int, int]]] = {}
    for row in data.to_pylist():
        by_retention = lost.setdefault(row["group_id"], {})
        known = by_retention.get(row["retention_ms"], (0, 0))
        by_retention[row["retention_ms"]] = known[0] + row["lost_offsets"], known[1] + row["reset_offsets"]
    if not lost:
        return "no group would lose an offset with any of these retentions"
    order = sorted(lost, key=lambda group: (-sum(each[0] for each in lost[group].values()), group))
    headings = ["group", *map(_span, options.retentions_ms)]
    rows = [[group, *(_cell(lost[group].get(each)) for each in options.retentions_ms)] for group in order]
    shown = [headings, *rows[:_MOST_SHOWN]]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in shown]
    if len(rows) > _MOST_SHOWN:
        lines.append(f"... and {len(rows) - _MOST_SHOWN} more groups")
    return "\n".join(["offsets lost (met by a group that came back):", *lines])


def _cell(counts: tuple[int, int] | None) -> str:
    return "-" if counts is None else f"{counts[0]:,} ({counts[1]:,})"


def _span(ms: int) -> str:
    """7d, 36h, 90m: the largest unit that divides it."""
    for unit, unit_ms in reversed(_UNITS_MS.items()):
        if ms % unit_ms == 0:
            return f"{ms // unit_ms}{unit}"
    return f"{ms}ms"
