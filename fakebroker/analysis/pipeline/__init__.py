"""The data pipeline: journals and histories of `__consumer_offsets` become tables, checks and a report.

A table has one name in three places: its contract in `tables/`, its transformation on Spark (`DataFrame -> DataFrame`)
in `spark/`, and the same in plain Python in `oracle/`, which `--engine python` runs and tests compare with. The broker
imports nothing of this; it needs the extra `history`, and the extra `spark` for the engine of that name.

`build.py` says which tables are made when, and `engines.py` in what the engines differ. `publish.py` stages, checks
and renames, with one writer at a time (`write_lock.py`). Spark is started by `session.py`, `java.py` and
`spark_home.py`; `spark_failures.py` and `storage_failures.py` say what went wrong in a line. `causes.py` gives every
reason of a rebalance a cause. `expiry_cases.py` has the rules of expiry, written anew from the documentation.
`retention_losses.py` of both engines counts what a what-if counts, and `tests/support/history_replay.py` plays the same
history on a broker.
"""
