"""Recording what clients and a Kafka say to each other, as session files."""
