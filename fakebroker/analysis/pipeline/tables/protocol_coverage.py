"""Protocol coverage: which cells of API x version x error were seen."""

from fakebroker.analysis.pipeline.contract import Column, Table

TABLE = Table(
    name="protocol_coverage",
    layer="gold",
    about="The APIs, versions and errors that clients used, and supported versions that they did not",
    columns=(
        Column("api", "string", "the name of the API in Kafka"),
        Column("api_key", "int", "the API's number"),
        Column("version", "int", "the version of the request"),
        Column(
            "error",
            "string",
            "the error in the answer, with a row for each of several; NONE for success or an unused version; NO_ANSWER for a request that ended without an answer",
        ),
        Column(
            "is_seen", "boolean", "false if a broker of these journals supports this version, but no client used it"
        ),
        Column("requests", "long", "number of requests"),
        Column("clients", "strings", "the client ids, sorted, twenty at most"),
        Column(
            "waited_ms_p50",
            "double",
            "median of the waiting time; the mean of the middle two for an even number; null without requests",
            True,
        ),
        Column("waited_ms_p99", "double", "99th percentile of the waiting time; null without requests", True),
    ),
    key=("api", "version", "error"),
)
