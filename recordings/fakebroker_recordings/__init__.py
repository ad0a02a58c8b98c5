"""Dialogues recorded from running Kafka brokers: one `*.jsonl` file each, in a folder for each chapter."""

from pathlib import Path

FOLDER = Path(__file__).resolve().parent
