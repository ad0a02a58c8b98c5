"""Failures of a campaign, the most frequent first."""

from fakebroker.analysis.pipeline.contract import Check, Table, columns
from fakebroker.analysis.pipeline.recipe import Recipe

TABLE = Table(
    name="campaign_failures",
    layer="gold",
    about="The distinct failures of a campaign, ranked by number of runs",
    columns=columns("""
        rank int: 1 is the most frequent
        scenario string: the scenario's file
        signature string: the failure, without the parts that differ between runs
        line int?: the line of the step that failed; null if it could not be played
        runs long: number of runs that failed like this, with any seed and settings
        of_runs long: total number of runs of the scenario
        first_seed long: the lowest seed that fails like this
        settings string: the settings of the run with that seed, as JSON; of several, the first in text order
        failure string: the message of that run
        repeat string: the command that repeats it
    """),
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


def recipe() -> Recipe:
    """A row for each way in which runs of a scenario failed; the run that it shows is the first by seed and settings."""
    return Recipe("""
        SELECT ROW_NUMBER() OVER (ORDER BY runs DESC, scenario, signature) AS rank, failures.*
        FROM (
            SELECT
                scenario, signature, line, runs, of_runs, seed AS first_seed, settings, failure, repeat
            FROM (
                SELECT
                    *, COUNT(*) OVER (PARTITION BY scenario, signature) AS runs,
                    ROW_NUMBER() OVER (PARTITION BY scenario, signature ORDER BY seed, settings) AS number
                FROM campaign_runs
                WHERE outcome <> 'passed'
            ) AS failed
            JOIN (SELECT scenario, COUNT(*) AS of_runs FROM campaign_runs GROUP BY scenario) AS played USING (scenario)
            WHERE number = 1
        ) AS failures
    """)
