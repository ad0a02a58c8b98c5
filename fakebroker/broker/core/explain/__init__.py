"""Why offsets, members, transactions and share partitions are as they are, for people; read from the whole cluster."""
