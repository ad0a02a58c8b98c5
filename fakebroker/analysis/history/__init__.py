"""The history in `__consumer_offsets`: records read from files or a running broker, decoded, queried and retold.

`reading.py` finds the files and their kind; `segments.py`, `json_lines.py` and `parquet.py` read them, `live.py` reads
a running Kafka broker. `decode.py` defines what a record means, and `pipeline/arrow_decode.py` does the same by
columns. `compile` makes a scenario of a window. Plain Python without Spark; the tables are made in `pipeline`.
"""
