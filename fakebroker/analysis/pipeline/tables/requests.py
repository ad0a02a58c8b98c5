"""Requests of clients."""

from fakebroker.analysis.pipeline.contract import Column, Table
from fakebroker.analysis.pipeline.recipe import Recipe, listed

TABLE = Table(
    name="requests",
    layer="silver",
    about="Every request of clients, from `request` lines of journals",
    columns=(
        Column("source", "string", "the run of the journal"),
        Column("seq", "long", "the entry of the journal"),
        Column("part", "int", "the line's number within that entry"),
        Column("received_at", "timestamp", "when it was received, by the broker's time of day"),
        Column("answered_at", "timestamp", "when it was answered"),
        Column("waited_ms", "long", "monotonic time from receiving it to its answer"),
        Column("node", "int", "the broker", True),
        Column("connection", "long", "the connection, counted from the start of the run", True),
        Column("client_id", "string", "the client id; null without one", True),
        Column("api", "string", "the name of the API in Kafka"),
        Column("api_key", "int", "the API's number"),
        Column("version", "int", "the version of the request"),
        Column("groups", "strings", "the groups that it names"),
        Column("topics", "strings", "the topics that it names"),
        Column("errors", "strings", "the errors in the answer, each once; empty on success"),
        Column("is_answered", "boolean", "false for one that ended without an answer"),
        Column("request_bytes", "long", "its size without the length prefix"),
        Column("response_bytes", "long", "the size of the answer, 0 without one"),
    ),
    key=("source", "seq", "part"),
)


_AS_WRITTEN = (
    "seq", "part", "waited_ms", "node", "connection", "api", "api_key", "version", "groups", "topics", "errors",
    "is_answered", "request_bytes", "response_bytes",
)  # fmt: skip


def recipe() -> Recipe:
    """A row for each line."""
    return Recipe(f"""
        SELECT
            run AS source, received_wall_ms AS received_at, wall_ms AS answered_at, client AS client_id,
            {listed(_AS_WRITTEN)}
        FROM events
        WHERE kind = 'request'
    """)
