"""One file per Kafka API: the message, what the core does about it, the answer. All version quirks live here."""
