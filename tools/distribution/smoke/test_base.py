"""Without an extra: the pytest plugin, the broker, its clock, and the command line."""

import re
import shutil
import subprocess
import sys
from pathlib import Path


def test_a_broker_keeps_records_and_offsets_expire(fakebroker):
    fakebroker.create_topic("orders")
    fakebroker.topic("orders").produce("first")
    consumer = fakebroker.client("consumer-1")
    consumer.commit({("orders", 0): 1}, group_id="billing")
    assert fakebroker.group("billing").offsets == {("orders", 0): 1}
    fakebroker.clock.advance(days=8)
    assert fakebroker.group("billing").offsets == {}


def test_what_needs_an_extra_says_how_to_get_it():
    command = shutil.which("fakebroker", path=str(Path(sys.executable).parent))
    done = subprocess.run(
        [command, "serve", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0"], capture_output=True, text=True
    )
    assert done.returncode != 0
    assert re.search(r"pip install '.*\[control\]'", done.stderr)


def test_the_help_needs_no_extra():
    done = subprocess.run([sys.executable, "-m", "fakebroker", "--help"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "ctl" in done.stdout
