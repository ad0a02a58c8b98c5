"""The recordings, and a broker that is judged by one of them."""

import shutil
import subprocess
import sys
from pathlib import Path

from fakebroker import FakeBroker


def test_a_broker_gets_a_score():
    command = shutil.which("fakebroker", path=str(Path(sys.executable).parent))
    with FakeBroker() as broker:
        judge = [command, "conformance", broker.bootstrap, "--only", "offsets/"]
        done = subprocess.run(judge, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "offsets" in done.stdout
