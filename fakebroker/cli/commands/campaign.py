"""`fakebroker campaign`: many runs of scenarios with seeds and settings, and what failed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fakebroker.cli.commands.engine_options import EngineChoice, chosen_engine, engine_options
from fakebroker.cli.commands.tables_option import tables_option
from fakebroker.cli.commands.work import playing
from fakebroker.cli.exit_status import CommandError, ExitStatus, errors_end_the_command
from fakebroker.cli.lazy_commands import Commands
from fakebroker.protocol.errors import FakebrokerError

if TYPE_CHECKING:
    from fakebroker.analysis.campaign.plan import Campaign
    from fakebroker.analysis.pipeline.engines import Engine, Frame
    from fakebroker.analysis.pipeline.publish import Staging


@click.group(cls=Commands)
def campaign() -> None:
    """Play scenarios with many seeds and settings.

    Needs the extra `history`, or `spark` for --engine spark.
    """


@campaign.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--seeds", required=True, metavar="N|FIRST..LAST", help="Play with each of the seeds 1 to N, or FIRST to LAST."
)
@click.option(
    "--setting",
    "settings",
    multiple=True,
    metavar="NAME=VALUE,VALUE",
    help="Values of a broker setting to combine with other settings. Repeatable.",
)
@tables_option
@click.option("--journals", metavar="DIR", help="Keep the journal of one run of each failure in DIR.")
@engine_options
def run(
    paths: tuple[str, ...],
    seeds: str,
    settings: tuple[str, ...],
    tables: Path,
    journals: str | None,
    choice: EngineChoice,
) -> None:
    """Play scenarios in virtual time with each seed and combination of settings.

    A PATH is a file or a folder of files. Each run is a row of the table campaign_runs, and each kind of failure is one
    of campaign_failures. The exit status is 1 if a run failed.
    """
    from fakebroker.analysis.campaign.plan import read_campaign
    from fakebroker.cli.commands.scenario_run import seeds_of
    from fakebroker.scenarios.language.yaml_file import check_extra

    with errors_end_the_command():
        check_extra()
        planned = read_campaign(paths, settings, seeds_of(seeds))
    if journals is not None:
        from fakebroker.analysis.campaign.journals import make_folder

        with _writing_to(Path(journals)):
            make_folder(Path(journals))
    with chosen_engine(choice, playing(len(planned))) as (engine, progress):
        from fakebroker.analysis.pipeline.build import make_tables
        from fakebroker.analysis.pipeline.publish import staging

        with staging(engine, tables, progress) as stage:
            frame = _played(engine, stage, planned)
            make_tables(stage, ["campaign_failures"], {"campaign_runs": frame})
            stage.publish({"campaign": _about(planned)})
    failures = _tell(tables)
    if journals is not None:
        _keep_journals(planned, failures, Path(journals))
    if failures:
        raise SystemExit(ExitStatus.FAILED)


@campaign.command()
@tables_option
def report(tables: Path) -> None:
    """Show the failures of a campaign, each with the command that repeats it.

    The exit status is 1 if a run failed.
    """
    from fakebroker.analysis.pipeline.extras import need_extra

    with errors_end_the_command():
        need_extra("history")
        from fakebroker.analysis.pipeline.storage_failures import storage_failures_reported

        with storage_failures_reported():
            failures = _tell(tables)
    if failures:
        raise SystemExit(ExitStatus.FAILED)


def _played(engine: "Engine", stage: "Staging", planned: "Campaign") -> "Frame":
    """Play all runs with an engine; the table of them, stored."""
    from fakebroker.analysis.campaign.progress import CampaignProgress

    progress = CampaignProgress(len(planned))
    if engine.name == "embedded":
        from fakebroker.analysis.campaign.on_python import runs_here

        return stage.store("campaign_runs", progress.counting(runs_here(planned)))
    from fakebroker.analysis.campaign.on_spark import Counted, runs_on_spark, small_batches, watched

    session: Any = engine.session
    counted = Counted(session)
    with small_batches(session), watched(counted, progress):
        return stage.store("campaign_runs", runs_on_spark(session, planned, counted=counted))


def _keep_journals(planned: "Campaign", failures: list[dict[str, Any]], folder: Path) -> None:
    from fakebroker.analysis.campaign.journals import keep_journals

    with _writing_to(folder):
        kept = keep_journals(planned, failures, folder)
    if kept:
        click.echo(f"journals of {len(kept)} failed runs are in {folder}")


@contextmanager
def _writing_to(folder: Path) -> Iterator[None]:
    """End the command with a line for a folder without write access."""
    try:
        yield
    except OSError as error:
        raise CommandError(f"cannot write to {folder}: {error.strerror or error}") from None


def _about(planned: "Campaign") -> dict[str, Any]:
    return {
        "scenarios": [each.path for each in planned.scenarios],
        "seeds": f"{planned.seeds.start}..{planned.seeds.stop - 1}",
        "settings": [dict(each) for each in planned.configs],
    }


def _tell(folder: Path) -> list[dict[str, Any]]:
    """Print what came of a campaign; its failures. Raises FakebrokerError if there is none in the folder."""
    import pyarrow.dataset as ds

    from fakebroker.analysis.campaign.outcome_text import Count, outcome_text
    from fakebroker.analysis.pipeline.publish import Published
    from fakebroker.analysis.pipeline.rows import parquet_files, read_rows
    from fakebroker.analysis.pipeline.tables import table

    published = Published(folder)
    for name in ("campaign_runs", "campaign_failures"):
        if not published.has(name):
            raise FakebrokerError(f"{folder} has no table {name}; give a directory written by `fakebroker campaign`")
    runs = ds.dataset([str(file) for file in parquet_files(published.folder_of("campaign_runs"))], format="parquet")
    keys = ["scenario", "settings", "outcome"]
    grouped = runs.to_table(columns=keys).group_by(keys).aggregate([([], "count_all")])
    counts = [Count(row["scenario"], row["settings"], row["outcome"], row["count_all"]) for row in grouped.to_pylist()]
    failures = read_rows(table("campaign_failures"), published.folder_of("campaign_failures"))
    click.echo(outcome_text(counts, failures))
    return failures
