"""What a broker committed, read from the journal as tables."""

import subprocess
import sys

from fakebroker import FakeBroker

FAKEBROKER = (sys.executable, "-m", "fakebroker")


def test_a_journal_becomes_a_report(tmp_path):
    with FakeBroker(journal_dir=tmp_path / "journal") as broker:
        broker.create_topic("orders")
        broker.client("c").commit({("orders", 0): 1}, group_id="billing")
    tables, report = tmp_path / "tables", tmp_path / "report.html"
    subprocess.run(
        [*FAKEBROKER, "pipeline", "run", str(tmp_path / "journal"), "--tables", str(tables), "--report", str(report),
         "--engine", "embedded"],
        check=True,
    )  # fmt: skip
    assert "billing" in report.read_text()
