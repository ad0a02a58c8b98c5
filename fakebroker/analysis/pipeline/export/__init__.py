"""Published tables where others read them: in object stores, as Parquet with a manifest, or in a table format."""
