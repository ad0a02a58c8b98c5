"""Dialogues recorded from running Kafka brokers: one `*.jsonl` file each, in a folder for each chapter.

`docs/reference/exchange-format.md` in the repository of fakebroker explains their lines.
"""

from pathlib import Path

FOLDER = Path(__file__).resolve().parent
