"""Record batches and messages of every format, and the records of internal topics.

`batch.py` and `batch_format.py` have today's batches, `message_set.py` the formats before them. A produced batch is
scanned by `record_scan.py`: by columns (`record_runs.py`), record by record (`usual_records.py`), or by the exact
decoder (`record_codec.py`), which alone says what is wrong. `offsets_topic.py` has the values of `__consumer_offsets`,
`offsets_codec.py` their bytes.
"""
