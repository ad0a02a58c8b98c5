"""What a broker committed, read from the journal as tables."""

import shutil
import subprocess
import sys
from pathlib import Path

from fakebroker import FakeBroker


def test_a_journal_becomes_a_report(tmp_path):
    with FakeBroker(journal_dir=tmp_path / "journal") as broker:
        broker.create_topic("orders")
        broker.client("c").commit({("orders", 0): 1}, group_id="billing")
    command = shutil.which("fakebroker", path=str(Path(sys.executable).parent))
    tables = str(tmp_path / "tables")
    subprocess.run(
        [command, "pipeline", "ingest", str(tmp_path / "journal"), "--out", tables, "--engine", "python"], check=True
    )
    subprocess.run([command, "pipeline", "build", tables, "--engine", "python"], check=True)
    report = tmp_path / "report.html"
    subprocess.run([command, "pipeline", "report", tables, "--out", str(report)], check=True)
    assert "billing" in report.read_text()
