"""Parquet of a sink by columns: what is exactly as sinks write it never becomes a Python object on the way."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fakebroker.history.decode import reject_row
from fakebroker.history.log_record import Reject
from fakebroker.history.parquet import read_parquet, records_of_batch
from fakebroker.history.sink_rows import TOPIC, BadRow, Shape, shape_of
from fakebroker.pipeline.arrow_decode import RAW_SCHEMA, ROWS_PER_BATCH, decode_batch, rows_to_arrow
from fakebroker.pipeline.sources.splits import TO_THE_END, Split
