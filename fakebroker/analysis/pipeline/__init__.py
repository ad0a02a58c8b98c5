"""The data pipeline: journals and histories of `__consumer_offsets` become tables, checks and a report.

A table is one file of `tables/`: its contract, and its recipe, which both engines run (`recipe.py`). That is SQL which
DuckDB and Spark share (`dialects.py`), and functions over sorted rows where SQL says it badly. The broker imports
nothing of this; it needs the extra `history`, and the extra `spark` for the engine of that name.

`build.py` says which tables are made when; the engines are `duckdb_engine.py` and `spark_engine.py`. `publish.py`
stages, checks and renames, with one writer at a time (`write_lock.py`). Spark is started by `session.py`, `java.py` and
`spark_home.py`; `spark_failures.py` and `storage_failures.py` say what went wrong in a line. `causes.py` gives every
reason of a rebalance a cause. `expiry_cases.py` has the rules of expiry, written from the documentation once more.
`retention_queries.py` finds what can be lost in a what-if, `retention_play.py` plays that with each retention, and
`tests/support/history_replay.py` plays the same history on a broker.
"""
