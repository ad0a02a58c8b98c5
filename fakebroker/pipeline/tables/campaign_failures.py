"""Failures of a campaign, the most frequent first."""

from fakebroker.pipeline.contract import Column, Table

TABLE = Table(
    name="campaign_failures",
    layer="gold",
    about="The different ways in which runs of a campaign failed, ranked by how many did",
    columns=(
        Column("rank", "int", "1 is the most frequent"),
        Column("scenario", "string", "the scenario's file"),
        Column("signature", "string", "the failure without what differs from run to run"),
        Column("line", "int", "the line of the scenario that failed; null if it could not be played", True),
        Column("runs", "long", "how many runs failed like this"),
        Column("of_runs", "long", "of how many runs of the scenario"),
        Column("first_seed", "long", "the lowest seed that fails like this"),
        Column("settings", "string", "the settings with it, as JSON"),
        Column("failure", "string", "what that run said"),
        Column("repeat", "string", "the command that repeats it"),
    ),
    key=("scenario", "signature"),
)
