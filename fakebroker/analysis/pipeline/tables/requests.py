"""Requests of clients."""

from fakebroker.analysis.pipeline.contract import Table, columns
from fakebroker.analysis.pipeline.recipe import Recipe, listed

TABLE = Table(
    name="requests",
    layer="silver",
    about="Every request of clients, from `request` lines of journals",
    columns=columns("""
        source string: the run of the journal
        seq long: the entry of the journal
        part int: the line's number within that entry
        received_at timestamp: when it was received, by the broker's time of day
        answered_at timestamp: when it was answered
        waited_ms long: monotonic time from receiving it to its answer
        node int?: the broker
        connection long?: the connection, counted from the start of the run
        client_id string?: the client id; null without one
        api string: the name of the API in Kafka
        api_key int: the API's number
        version int: the version of the request
        groups strings: the groups that it names
        topics strings: the topics that it names
        errors strings: the errors in the answer, each once; empty on success
        is_answered boolean: false for one that ended without an answer
        request_bytes long: its size without the length prefix
        response_bytes long: the size of the answer, 0 without one
    """),
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
