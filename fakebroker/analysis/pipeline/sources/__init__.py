"""Python data sources for Spark: histories of `__consumer_offsets` and journals."""
