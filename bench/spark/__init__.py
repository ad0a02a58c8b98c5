"""Speed of the data pipeline on Spark: `make bench-spark`."""
