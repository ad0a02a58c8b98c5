"""Protocol coverage: which cells of API x version x error were seen."""

from collections.abc import Iterable, Iterator
from typing import Final

from fakebroker.analysis.pipeline.contract import Row, Table, columns, columns_only
from fakebroker.analysis.pipeline.recipe import Recipe, Step
from fakebroker.protocol.wire.registry import APIS
from fakebroker.testing.releases import RELEASES, served_by

TABLE = Table(
    name="protocol_coverage",
    layer="gold",
    about="The APIs, versions and errors that clients used, and supported versions that they did not",
    columns=columns("""
        api string: the name of the API in Kafka
        api_key int: the API's number
        version int: the version of the request
        error string: the error in the answer, with a row for each of several; NONE for success or an unused version; NO_ANSWER for a request that ended without an answer
        is_seen boolean: false if a broker of these journals supports this version, but no client used it
        requests long: number of requests
        clients strings: the client ids, sorted, twenty at most
        waited_ms_p50 double?: median of the waiting time; the mean of the middle two for an even number; null without requests
        waited_ms_p99 double?: 99th percentile of the waiting time; null without requests
    """),
    key=("api", "version", "error"),
)


NO_ERROR: Final = "NONE"
NO_ANSWER: Final = "NO_ANSWER"
MAX_CLIENTS: Final = 20
_SERVED: Final = columns_only("""
    api string: an API that a broker serves
    api_key int: the API's number
    version int: a version that it serves
""")
_STARTED: Final = "SELECT DISTINCT release FROM events WHERE kind = 'broker_started'"


def recipe() -> Recipe:
    """A row for each API, version and error that was seen, and for each version that was served and not asked for.

    `events` say of which releases the brokers were (`broker_started`): without such lines nothing is unseen.
    """
    return Recipe(
        f"""
        WITH answers AS (
            SELECT api, api_key, version, client_id, waited_ms, UNNEST(CASE
                WHEN NOT is_answered THEN LIST_VALUE('{NO_ANSWER}')
                WHEN ARRAY_LENGTH(errors) = 0 THEN LIST_VALUE('{NO_ERROR}')
                ELSE ARRAY_DISTINCT(errors)
            END) AS error
            FROM requests
        )
        SELECT
            api, api_key, version, error, TRUE AS is_seen, COUNT(*) AS requests,
            COALESCE(
                ARRAY_SLICE(
                    ARRAY_SORT(ARRAY_AGG(DISTINCT client_id) FILTER (WHERE client_id IS NOT NULL)), 1, {MAX_CLIENTS}
                ),
                CAST(LIST_VALUE() AS VARCHAR[])
            ) AS clients,
            PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY waited_ms) AS waited_ms_p50,
            PERCENTILE_CONT(0.99) WITHIN GROUP (ORDER BY waited_ms) AS waited_ms_p99
        FROM answers
        GROUP BY api, api_key, version, error
        UNION ALL
        SELECT DISTINCT
            api, api_key, version, '{NO_ERROR}' AS error, FALSE AS is_seen, 0 AS requests,
            CAST(LIST_VALUE() AS VARCHAR[]) AS clients, NULL AS waited_ms_p50, NULL AS waited_ms_p99
        FROM served
        LEFT JOIN (SELECT DISTINCT api_key, version, 1 AS asked FROM requests) AS asked_for USING (api_key, version)
        WHERE asked IS NULL
        """,
        (Step("served", _SERVED, _STARTED, served_versions),),
    )


def served_versions(started: Iterable[Row]) -> Iterator[Row]:
    """Each version of each API that brokers of these releases serve."""
    for row in started:
        for key, (lowest, highest) in served_by(row["release"]).items() if row["release"] in RELEASES else ():
            for version in range(lowest, highest + 1):
                yield {"api": APIS[key].name, "api_key": key, "version": version}
