"""The table `coordinator_records` on Spark."""

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - its usual name

from fakebroker.analysis.pipeline.spark.distinct_records import distinct_records
from fakebroker.analysis.pipeline.tables.coordinator_records import TABLE
from fakebroker.analysis.pipeline.tables.decoded import DecodedOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_OF_JOURNALS = ("seq", "part")


def coordinator_records(decoded: "DataFrame", *, options: DecodedOptions = DecodedOptions()) -> "DataFrame":
    """A row for each record of the logs that is no offset commit."""
    types = {column.name: column.type for column in TABLE.columns}
    found = distinct_records(decoded, options).where(F.col("what") == "record")
    return found.select(
        *(
            F.lit(None).cast(types[name]).alias(name) if name in _OF_JOURNALS else F.col(name)
            for name in TABLE.column_names
        )
    )
