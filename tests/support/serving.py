"""`fakebroker serve --control` in a process of its own."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

TIMEOUT_S = 30
# A client of another test may knock that goes on after its own broker is gone: the port is another broker's now.
STRANGER = "this looks like a TLS handshake"
FAILED_DISK = "its last log directory, has failed"  # which a test of everything wants as well


def warnings_in(log: str) -> list[str]:
    """The lines of a log that are warnings, without those of strangers (no listener here speaks TLS) and of disks."""
    expected = (" INFO ", STRANGER, FAILED_DISK)
    return [line for line in log.splitlines() if not any(each in line for each in expected)]


@contextmanager
def controlled(*options: str, control: str = "0") -> Iterator[str]:
    """A broker that is controlled by HTTP: its URL. At the end it has warned of no client but strangers, status 0."""
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
            assert (process.returncode, warnings_in(log)) == (0, []), f"status {process.returncode}; it logged:\n{log}"
