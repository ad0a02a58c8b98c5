"""The queries of recipes and checks are written as DuckDB reads them; here is what Spark has other words for.

Shared, and so to be preferred: joins, windows, GROUP BY, FILTER, CASE, COALESCE, IS DISTINCT FROM, CONCAT, GREATEST and
LEAST (both without nulls), PERCENTILE_CONT, ARRAY_AGG, ARRAY_SORT, ARRAY_DISTINCT, ARRAY_CONTAINS. Neither may a query
rely on where nulls are sorted, on a whole number from a division, or on a text with a quotation mark or a backslash.
"""

import re
from typing import Final

from fakebroker.analysis.pipeline.contract import SPARK_TYPES, ColumnType

DUCKDB_TYPES: Final[dict[ColumnType, str]] = {
    **SPARK_TYPES,
    "timestamp": "BIGINT",  # in queries a time is a number of milliseconds
    "strings": "VARCHAR[]",
}

_SPARK_WORDS: Final = {
    r'"': "`",
    r"\* EXCLUDE \(": "* EXCEPT (",
    r" IGNORE NULLS\)": ") IGNORE NULLS",
    r"\bARG_MAX_NULL\(": "max_by(",
    r"\bARG_MIN_NULL\(": "min_by(",
    r"\bARRAY_LENGTH\(": "size(",
    r"\bARRAY_SLICE\(": "slice(",
    r"\bLIST_VALUE\(": "array(",
    r"\bROW\(": "struct(",
    r"\bSTARTS_WITH\(": "startswith(",
    r"\bUNNEST\(": "explode(",
    r"\bVARCHAR\[\]": "ARRAY<STRING>",
    r"\$(\w+)": r":\1",  # a value that is given with the query
}


def for_spark(query: str) -> str:
    """The same query as Spark reads it."""
    for ours, theirs in _SPARK_WORDS.items():
        query = re.sub(ours, theirs, query)
    return query
