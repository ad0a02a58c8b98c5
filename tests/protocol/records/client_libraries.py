"""Record code of client libraries, as independent judges. kafka-python's import warns of a deprecation of its own."""

import warnings

from aiokafka.record.default_records import DefaultRecordBatch as AioBatch
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AioBatchBuilder
from aiokafka.record.legacy_records import LegacyRecordBatch as AioMessages
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder as AioMessagesBuilder

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from kafka import codec as python_codec
    from kafka.record.default_records import DefaultRecordBatch as PythonBatch
    from kafka.record.default_records import DefaultRecordBatchBuilder as PythonBatchBuilder
    from kafka.record.legacy_records import LegacyRecordBatch as PythonMessages
    from kafka.record.legacy_records import LegacyRecordBatchBuilder as PythonMessagesBuilder

__all__ = [
    "AioBatch",
    "AioBatchBuilder",
    "AioMessages",
    "AioMessagesBuilder",
    "PythonBatch",
    "PythonBatchBuilder",
    "PythonMessages",
    "PythonMessagesBuilder",
    "python_codec",
]
