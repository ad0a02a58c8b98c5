"""asyncio sockets and real time around the engine. Nothing here knows Kafka."""
