"""The recordings, and a broker that is judged by one of them."""

import subprocess
import sys

from fakebroker import FakeBroker

FAKEBROKER = (sys.executable, "-m", "fakebroker")


def test_a_broker_gets_a_score():
    with FakeBroker() as broker:
        judge = [*FAKEBROKER, "conformance", broker.bootstrap, "--only", "offsets/"]
        done = subprocess.run(judge, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "offsets" in done.stdout
