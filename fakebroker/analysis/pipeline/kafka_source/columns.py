"""The columns of a read, those of Spark's Kafka source."""

from typing import Any, Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from fakebroker.analysis.pipeline.extras import need_extra
from fakebroker.protocol.errors import FakebrokerError

_COLUMNS: Final = (
    ("key", BinaryType()),
    ("value", BinaryType()),
    ("topic", StringType()),
    ("partition", IntegerType()),
    ("offset", LongType()),
    ("timestamp", TimestampType()),
    ("timestampType", IntegerType()),
)
_HEADER: Final = StructType([StructField("key", StringType()), StructField("value", BinaryType())])


def record_schema(*, includes_headers: bool) -> StructType:
    """The columns, `headers` among them if they are asked for."""
    columns = [StructField(name, kind) for name, kind in _COLUMNS]
    return StructType([*columns, StructField("headers", ArrayType(_HEADER))] if includes_headers else columns)


def arrow_schema(schema: StructType, *, includes_headers: bool) -> Any:
    """The same for Arrow. Raises FakebrokerError for a schema that a user has given, MissingExtra without pyarrow."""
    need_extra("spark")
    from pyspark.sql.pandas.types import to_arrow_schema

    if schema != record_schema(includes_headers=includes_headers):
        raise FakebrokerError("the source has a fixed schema: leave .schema(...) out, and cast columns")
    return to_arrow_schema(schema, timezone="UTC")
