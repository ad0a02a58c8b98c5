"""What `__consumer_offsets` remembers: its records read from files or a live Kafka, decoded, asked and retold.

Plain Python without Spark. Tables of it are made in `fakebroker.pipeline`.
"""
