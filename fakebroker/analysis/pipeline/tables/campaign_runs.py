"""Runs of a campaign."""

from fakebroker.analysis.pipeline.contract import Check, Column, Table

TABLE = Table(
    name="campaign_runs",
    layer="gold",
    about="Every run of a campaign: a scenario with a seed and settings, and what came of it",
    columns=(
        Column("scenario", "string", "the scenario's file, relative to where the campaign was started"),
        Column("seed", "long", "the seed of the run"),
        Column("settings", "string", "the broker settings of the run beside the scenario's own, as JSON"),
        Column("outcome", "string", "passed, failed, or `broken` when the run could not be played"),
        Column("failure", "string", "what was expected and what was seen, or what went wrong; null if it passed", True),
        Column(
            "signature",
            "string",
            "the failure without what differs from run to run; equal for runs that fail alike; null if it passed",
            True,
        ),
        Column(
            "line",
            "int",
            "the line of the first step that failed, in the file that the failure names; null if it passed or could not be played",
            True,
        ),
        Column("steps", "int", "how many steps were taken"),
        Column("virtual_ms", "long", "how much virtual time passed"),
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
            "a run that did not pass says what went wrong and how it is repeated, one that passed does not",
            "SELECT * FROM campaign_runs WHERE (outcome = 'passed') <> (failure IS NULL)"
            " OR (outcome = 'passed') <> (signature IS NULL) OR (outcome = 'passed') <> (repeat IS NULL)"
            " OR outcome NOT IN ('passed', 'failed', 'broken')",
        ),
    ),
)
