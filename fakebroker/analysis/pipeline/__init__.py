"""The data pipeline: journals and histories of `__consumer_offsets` become tables, checks and a report.

A table has one name in three places: its contract in `tables/`, its transformation on Spark (`DataFrame -> DataFrame`)
in `spark/`, and the same in plain Python in `oracle/`, which `--engine python` runs and tests compare with. The broker
imports nothing of this; it needs the extra `history`, and the extra `spark` for the engine of that name.
"""
