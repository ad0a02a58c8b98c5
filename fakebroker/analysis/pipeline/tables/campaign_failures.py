"""Failures of a campaign, the most frequent first."""

from fakebroker.analysis.pipeline.contract import Check, Column, Table

TABLE = Table(
    name="campaign_failures",
    layer="gold",
    about="The different ways in which runs of a campaign failed, ranked by how many did",
    columns=(
        Column("rank", "int", "1 is the most frequent"),
        Column("scenario", "string", "the scenario's file"),
        Column("signature", "string", "the failure without what differs from run to run"),
        Column("line", "int", "the line of the step that failed; null if it could not be played", True),
        Column("runs", "long", "how many runs failed like this, with any seed and settings"),
        Column("of_runs", "long", "of how many runs of the scenario"),
        Column("first_seed", "long", "the lowest seed that fails like this"),
        Column(
            "settings",
            "string",
            "the settings of the run with that seed, as JSON; of several the first in the order of their text",
        ),
        Column("failure", "string", "what that run said"),
        Column("repeat", "string", "the command that repeats it"),
    ),
    key=("scenario", "signature"),
    checks=(
        Check(
            "failures add up",
            "every run that did not pass is counted once",
            "SELECT * FROM (SELECT COUNT(*) AS bad FROM campaign_runs WHERE outcome <> 'passed') AS a"
            " CROSS JOIN (SELECT COALESCE(SUM(runs), 0) AS listed FROM campaign_failures) AS b WHERE bad <> listed",
        ),
    ),
)
