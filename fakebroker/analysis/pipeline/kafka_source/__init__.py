"""The Spark data source "fakebroker": a Kafka's records in batches and streams, and a sink, without any jar."""
