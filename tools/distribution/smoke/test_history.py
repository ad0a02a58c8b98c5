"""What a broker committed, read from the journal as tables."""

import subprocess
import sys

from fakebroker import FakeBroker

FAKEBROKER = (sys.executable, "-m", "fakebroker")


def test_a_journal_becomes_a_report(tmp_path):
    with FakeBroker(journal_dir=tmp_path / "journal") as broker:
        broker.create_topic("orders")
        broker.client("c").commit({("orders", 0): 1}, group_id="billing")
    tables = str(tmp_path / "tables")
    subprocess.run(
        [*FAKEBROKER, "pipeline", "ingest", str(tmp_path / "journal"), "--out", tables, "--engine", "python"],
        check=True,
    )
    subprocess.run([*FAKEBROKER, "pipeline", "build", tables, "--engine", "python"], check=True)
    report = tmp_path / "report.html"
    subprocess.run([*FAKEBROKER, "pipeline", "report", tables, "--out", str(report)], check=True)
    assert "billing" in report.read_text()
