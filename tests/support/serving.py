"""`fakebroker serve --control` in a process of its own."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

TIMEOUT_S = 30


@contextmanager
def controlled(*options: str, control: str = "0") -> Iterator[str]:
    """A broker that is controlled by HTTP: its URL. At the end it has warned of nothing, and its status is 0."""
    command = [sys.executable, "-m", "fakebroker", "serve", "--listen", "127.0.0.1:0", "--control", control, *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline().startswith("fakebroker listening on ")
        line = process.stdout.readline()
        found = re.match(r"fakebroker control on (http://.*)", line)
        assert found, line
        try:
            yield found[1]
        finally:
            process.send_signal(signal.SIGTERM)
            _, log = process.communicate(timeout=TIMEOUT_S)
            warnings = [line for line in log.splitlines() if " INFO " not in line]
            assert (process.returncode, warnings) == (0, []), f"status {process.returncode}; it logged:\n{log}"
