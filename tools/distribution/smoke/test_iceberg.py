"""What a broker committed, exported as Iceberg tables."""

import subprocess
import sys
from pathlib import Path

from fakebroker import FakeBroker

FAKEBROKER = (sys.executable, "-m", "fakebroker", "pipeline")


def run(*words):
    subprocess.run([*FAKEBROKER, *map(str, words)], check=True)


def test_events_become_an_iceberg_table(tmp_path):
    from pyiceberg.catalog import load_catalog

    with FakeBroker(journal_dir=tmp_path / "journal") as broker:
        broker.client("c").commit({("orders", 0): 1}, group_id="billing")
    tables, catalog = tmp_path / "tables", f"sqlite:///{tmp_path}/catalog.db"
    run("ingest", tmp_path / "journal", "--tables", tables, "--engine", "embedded")
    run("export", "--tables", tables, "--to", Path(tmp_path / "lake").as_uri(), "--format", "iceberg",
        "--catalog", catalog)  # fmt: skip
    assert load_catalog("fakebroker", uri=catalog).load_table("fakebroker.events").scan().to_arrow().num_rows > 0
