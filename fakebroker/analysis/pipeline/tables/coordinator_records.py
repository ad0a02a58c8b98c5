"""Records of `__consumer_offsets` that are no committed offsets."""

from typing import Final

from fakebroker.analysis.pipeline.contract import ORIGIN, ORIGIN_KEY, Table, columns
from fakebroker.analysis.pipeline.distinct_records import DecodedOptions, distinct_records
from fakebroker.analysis.pipeline.recipe import Recipe, listed

TABLE = Table(
    name="coordinator_records",
    layer="bronze",
    about="Every record of `__consumer_offsets` other than committed offsets: classic, consumer, share and streams groups, markers of transactions, unknown types",
    columns=columns("""
        at timestamp?: the timestamp of the record
        record_type int?: the number at the start of the key (its version in older releases); null for a marker
        kind string: the name of the type in Kafka, such as GroupMetadata or ConsumerGroupMemberMetadata; `commit` or `abort` for a marker of a transaction, `unknown` for an unknown type
        value_version int?: the version of the value; null for a tombstone and a marker
        group_id string?: the group; null for a marker and an unknown type
        key string?: the fields of the key as JSON, with Kafka's names; for an unknown type, its bytes as hex
        value string?: the fields of the value as JSON, with Kafka's names, bytes as `{"hex": ...}`; for an unknown type, its bytes as hex; null for a tombstone
        producer_id long?: the producer of a transaction; null without one
        producer_epoch int?: its epoch; null without one
    """)
    + ORIGIN,
    key=ORIGIN_KEY,
)


_OF_JOURNALS: Final = ("seq", "part")


def recipe(options: DecodedOptions = DecodedOptions()) -> Recipe:
    """A row for each record of the logs that is no offset commit."""
    columns = listed(name for name in TABLE.column_names if name not in _OF_JOURNALS)
    return Recipe(f"""
        SELECT {columns}, NULL AS seq, NULL AS part
        FROM ({distinct_records(options)}) AS records
        WHERE what = 'record'
    """)
