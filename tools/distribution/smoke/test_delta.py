"""What a broker committed, exported as Delta tables."""

import subprocess
import sys
from pathlib import Path

from fakebroker import FakeBroker

FAKEBROKER = (sys.executable, "-m", "fakebroker", "pipeline")


def run(*words):
    subprocess.run([*FAKEBROKER, *map(str, words)], check=True)


def test_events_become_a_delta_table(tmp_path):
    from deltalake import DeltaTable

    with FakeBroker(journal_dir=tmp_path / "journal") as broker:
        broker.client("c").commit({("orders", 0): 1}, group_id="billing")
    tables, lake = tmp_path / "tables", Path(tmp_path / "lake").as_uri()
    run("ingest", tmp_path / "journal", "--tables", tables, "--engine", "embedded")
    run("export", "--tables", tables, "--to", lake, "--format", "delta")
    assert DeltaTable(f"{lake}/events").file_uris()
