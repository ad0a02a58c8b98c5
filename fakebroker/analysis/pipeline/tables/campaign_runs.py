"""Runs of a campaign."""

from fakebroker.analysis.pipeline.contract import Check, Table, columns

TABLE = Table(
    name="campaign_runs",
    layer="gold",
    about="Every run of a campaign: a scenario with a seed and settings, and its outcome",
    columns=columns("""
        scenario string: the scenario's file, relative to the working directory of the campaign
        seed long: the seed of the run
        settings string: the broker settings of the run in addition to the scenario's own, as JSON
        outcome string: passed, failed, or `broken` when the run could not be played
        failure string?: the failed expectation or the error; null if it passed
        signature string?: the failure without the parts that differ between runs, equal for runs that fail alike; null if it passed
        line int?: the line of the first step that failed, in the file that the failure names; null if it passed or could not be played
        steps int: number of steps taken
        virtual_ms long: virtual time that passed
        transcript_hash string?: SHA-256 of the transcript, equal for equal runs; null if it could not be played
        repeat string?: the command that repeats it; null if it passed
    """),
    key=("scenario", "seed", "settings"),
    checks=(
        Check(
            "outcomes are known",
            "a run has a failure, a signature and a repeat command exactly if it did not pass",
            "(outcome = 'passed') <> (failure IS NULL)"
            " OR (outcome = 'passed') <> (signature IS NULL) OR (outcome = 'passed') <> (repeat IS NULL)"
            " OR outcome NOT IN ('passed', 'failed', 'broken')",
        ),
    ),
)
