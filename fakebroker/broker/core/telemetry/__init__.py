"""Client telemetry: what clients are asked for, and the metrics that they push (KIP-714)."""
