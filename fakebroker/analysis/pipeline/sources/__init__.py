"""Python data sources for Spark: histories of `__consumer_offsets` and journals.

`splits.py` cuts a history into parts, one for each task, and `split_reading.py` reads a part. Where no record can
occur twice (`repeats.py`), the tasks write most of the rows themselves (`stored_history.py`). `journal_line.py` judges
a line of a journal, for both engines.
"""
