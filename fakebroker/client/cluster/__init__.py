"""A synchronous client of a whole cluster: metadata, offsets, records, asked of whoever leads a partition."""
