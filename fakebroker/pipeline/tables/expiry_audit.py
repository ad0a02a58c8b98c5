"""Expiry audit: recorded and recomputed must agree."""

from fakebroker.pipeline.contract import Check, Column, Table

TABLE = Table(
    name="expiry_audit",
    layer="gold",
    about="Every offset that expired, or should have: what the journal recorded beside what the rules say, computed anew from commits and group states",
    columns=(
        Column("source", "string", "the run of the journal"),
        Column("group_id", "string", "the group"),
        Column("topic", "string", "the topic"),
        Column("partition", "int", "the partition of the topic"),
        Column("committed_offset", "long", "the offset that was committed"),
        Column("committed_at", "timestamp", "when it was committed"),
        Column("commit_seq", "long", "the entry of the journal that committed it"),
        Column("commit_part", "int", "the line's number within that entry"),
        Column("recorded_at", "timestamp", "when it expired; null if it was not recorded to", True),
        Column("recorded_due_at", "timestamp", "the moment from which it was due, as recorded", True),
        Column("recorded_rule", "string", "the rule that decided, as recorded", True),
        Column(
            "recomputed_due_at",
            "timestamp",
            "the moment from which it was due by the rules; null if it never was",
            True,
        ),
        Column("recomputed_rule", "string", "the rule that decides", True),
        Column("agrees", "boolean", "whether both say the same"),
    ),
    key=("source", "commit_seq", "commit_part"),
    checks=(
        Check(
            "recorded = recomputed", "what expired is what the rules say", "SELECT * FROM expiry_audit WHERE NOT agrees"
        ),
    ),
)
