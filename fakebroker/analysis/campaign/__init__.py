"""Campaigns: scenarios x seeds x settings, each run in virtual time, on one machine or spread over a Spark cluster.

`plan.py` lists the runs, `one_run.py` makes a row of one, and `signature.py` says which failures are alike;
`on_python.py` and `on_spark.py` spread the runs.
"""
