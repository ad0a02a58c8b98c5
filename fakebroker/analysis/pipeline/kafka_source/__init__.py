"""The Spark data source "fakebroker": the records of a Kafka cluster in batches and streams, and a sink, without a jar.

`options.py` has the names and checks of options, `planning.py` turns positions into offsets and tasks,
`record_columns.py` turns batches into columns, and `sink.py` writes. `pipeline/source_options.py` reads the options of
every data source.
"""
