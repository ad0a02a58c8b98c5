"""Runs of a campaign."""

from fakebroker.analysis.pipeline.contract import Check, Column, Table

TABLE = Table(
    name="campaign_runs",
    layer="gold",
    about="Every run of a campaign: a scenario with a seed and settings, and its outcome",
    columns=(
        Column("scenario", "string", "the scenario's file, relative to the working directory of the campaign"),
        Column("seed", "long", "the seed of the run"),
        Column("settings", "string", "the broker settings of the run in addition to the scenario's own, as JSON"),
        Column("outcome", "string", "passed, failed, or `broken` when the run could not be played"),
        Column("failure", "string", "the failed expectation or the error; null if it passed", True),
        Column(
            "signature",
            "string",
            "the failure without the parts that differ between runs, equal for runs that fail alike; null if it passed",
            True,
        ),
        Column(
            "line",
            "int",
            "the line of the first step that failed, in the file that the failure names; null if it passed or could not be played",
            True,
        ),
        Column("steps", "int", "number of steps taken"),
        Column("virtual_ms", "long", "virtual time that passed"),
        Column(
            "transcript_hash",
            "string",
            "SHA-256 of the transcript, equal for equal runs; null if it could not be played",
            True,
        ),
        Column("repeat", "string", "the command that repeats it; null if it passed", True),
    ),
    key=("scenario", "seed", "settings"),
    checks=(
        Check(
            "outcomes are known",
            "a run has a failure, a signature and a repeat command exactly if it did not pass",
            "SELECT * FROM campaign_runs WHERE (outcome = 'passed') <> (failure IS NULL)"
            " OR (outcome = 'passed') <> (signature IS NULL) OR (outcome = 'passed') <> (repeat IS NULL)"
            " OR outcome NOT IN ('passed', 'failed', 'broken')",
        ),
    ),
)
