"""Protocol coverage: which cells of API x version x error were seen."""

from fakebroker.analysis.pipeline.contract import Column, Table

TABLE = Table(
    name="protocol_coverage",
    layer="gold",
    about="Which APIs, versions and errors clients really used, and which served ones they did not",
    columns=(
        Column("api", "string", "the name of the API in Kafka"),
        Column("api_key", "int", "the API's number"),
        Column("version", "int", "the version of the request"),
        Column(
            "error",
            "string",
            "the error in the answer, several are a row each; NONE for an answer without, or for an unused version; NO_ANSWER for a request that ended without an answer",
        ),
        Column("is_seen", "boolean", "false: a broker of these journals serves this version, and no client used it"),
        Column("requests", "long", "how many requests"),
        Column("clients", "strings", "the client ids, sorted, twenty at most"),
        Column(
            "waited_ms_p50",
            "double",
            "median of the waiting time, between the middle two if they are even; null without requests",
            True,
        ),
        Column("waited_ms_p99", "double", "99th percentile of the waiting time; null without requests", True),
    ),
    key=("api", "version", "error"),
)
