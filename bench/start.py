"""What a user waits for: first answers of a fresh process, an import, the plugin, each next to a bare interpreter.

The bare interpreter imports asyncio, selectors and ssl, and ends: no server in Python starts in less. Modules come
from their compiled files, as after an installation. Everything takes turns in one run.
"""

import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench import requests as r
from bench.pythons import library_path
from bench.rows import one_number
from bench.targets import ROOT, free_port

BARE = "import asyncio, selectors, ssl"
IMPORT = "from fakebroker import FakeBroker; FakeBroker()"
PLUGIN = ("-p", "fakebroker.cli.pytest.plugin")
FIRST_TEST = "def test_nothing():\n    pass\n"
BATCH = r.batch(1024, 1)
JOIN = r.join("first", "", b"", session_timeout_ms=r.TIMEOUT_MS)
# The first request of a client and its goal, in bare interpreters.
FIRST = {
    "ApiVersions": (r.frame(r.which_versions(), r.API_VERSIONS), 1.6),
    "JoinGroup": (r.frame(JOIN, r.JOIN), 2.5),
    "Produce": (r.frame(r.produce("t", BATCH), r.PRODUCE), 2.5),
}
IMPORT_GOAL_MS, PLUGIN_GOAL_MS = 80.0, 15.0

ABOUT = """The rows with a bare interpreter are times until an answer; those in milliseconds are processor time. The
floor of all of them is the import of the broker: some 240 modules, none of which takes more than 4 % of the time.
Under callgrind an interpreter with asyncio, selectors and ssl is 235 million instructions, and one that has made a
`FakeBroker` 555 million. Of the difference, 13 % could be saved by another way to make named tuples, and 2 % by
another way to make the largest dataclass. The rest is reading modules and making classes, spread over all of them."""


def rows(rounds: int) -> list[str]:
    """A row for each kind of start, as medians over rounds in turns."""
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        (folder / "test_nothing.py").write_text(FIRST_TEST)
        environment = {**os.environ, "PYTHONPATH": library_path(), "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        environment.pop("PYTEST_PLUGINS", None)
        pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
        kinds: dict[str, Callable[[], float]] = {
            "bare": lambda: _run_ms(["-c", BARE], environment)[0],
            "bare, processor": lambda: _run_ms(["-c", BARE], environment)[1],
            "import": lambda: _run_ms(["-c", IMPORT], environment)[1],
            "without plugin": lambda: _run_ms([*pytest, "-p", "no:fakebroker"], environment)[1],
            "with plugin": lambda: _run_ms([*pytest, "-p", "no:fakebroker", *PLUGIN], environment)[1],
            **{name: _first_answer(frame, environment) for name, (frame, _) in FIRST.items()},
        }
        measured: dict[str, list[float]] = {name: [] for name in kinds}
        for turn in range(rounds + 1):
            for name, measure in kinds.items():
                taken = measure()
                if turn:  # the first one compiles
                    measured[name].append(taken)
    return _rows(measured)


def _rows(measured: dict[str, list[float]]) -> list[str]:
    bare = measured["bare"]
    plugin = _differences(measured["with plugin"], measured["without plugin"])
    answers = [
        one_number(f"start to the first {name} answered", _ratios(measured[name], bare), goal, "x a bare interpreter")
        for name, (_, goal) in FIRST.items()
    ]
    return [
        *answers,
        one_number(
            "`import fakebroker`, `FakeBroker()`, beyond it",
            _differences(measured["import"], measured["bare, processor"]),
            IMPORT_GOAL_MS,
            "ms",
        ),
        one_number("the plugin in a pytest run that does not use it", plugin, PLUGIN_GOAL_MS, "ms"),
    ]


def _ratios(values: list[float], others: list[float]) -> list[float]:
    return [value / other for value, other in zip(values, others, strict=True)]


def _differences(values: list[float], others: list[float]) -> list[float]:
    return [value - other for value, other in zip(values, others, strict=True)]


def _run_ms(arguments: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """How long Python runs, and its processor time."""
    began, used = time.perf_counter(), _processor_s()
    command = [sys.executable, *arguments]
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - began) * 1000, (_processor_s() - used) * 1000


def _processor_s() -> float:
    """The processor time of all processes that this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _first_answer(frame: bytes, environment: dict[str, str]) -> Callable[[], float]:
    """A function that starts a broker and returns the milliseconds until it has answered this request."""

    def measure() -> float:
        port = free_port()
        command = [sys.executable, "-m", "fakebroker", "serve", "--listen", f"127.0.0.1:{port}", "--topic", "t:1"]
        began = time.perf_counter()
        process = subprocess.Popen(
            command, env=environment, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            with _connected(port, began) as client:
                client.sendall(frame)
                if not client.recv(4):
                    raise RuntimeError("the broker closed the connection in place of an answer")
                return (time.perf_counter() - began) * 1000
        finally:
            process.kill()
            process.wait()

    return measure


def _connected(port: int, began: float) -> socket.socket:
    while time.perf_counter() - began < 30:
        try:
            return socket.create_connection(("127.0.0.1", port), 30)
        except OSError:
            time.sleep(0.001)
    raise TimeoutError(f"nobody listens on port {port} after 30 s")
