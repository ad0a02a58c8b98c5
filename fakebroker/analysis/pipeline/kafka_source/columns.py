"""The columns of a read, those of Spark's Kafka source."""

from typing import Any, Final

from pyspark.sql.types import ArrayType, StructType

from fakebroker.analysis.pipeline.extras import need_extra
from fakebroker.protocol.errors import FakebrokerError

_COLUMNS: Final = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "integer",
    "offset": "long",
    "timestamp": "timestamp",
    "timestampType": "integer",
}
_HEADER: Final = StructType().add("key", "string").add("value", "binary")


def record_schema(*, includes_headers: bool) -> StructType:
    """The columns, `headers` among them if they are asked for."""
    schema = StructType()
    for name, kind in _COLUMNS.items():
        schema.add(name, kind)
    return schema.add("headers", ArrayType(_HEADER)) if includes_headers else schema


def arrow_schema(schema: StructType, *, includes_headers: bool) -> Any:
    """The same for Arrow. Raises FakebrokerError for a schema that a user has given, MissingExtra without pyarrow."""
    need_extra("spark")
    from pyspark.sql.pandas.types import to_arrow_schema

    if schema != record_schema(includes_headers=includes_headers):
        raise FakebrokerError("the source has a fixed schema: leave .schema(...) out, and cast columns")
    return to_arrow_schema(schema, timezone="UTC")
