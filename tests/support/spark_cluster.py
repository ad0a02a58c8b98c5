"""A standalone Spark cluster for tests: one master and two workers, each a process of its own on 127.0.0.1.

with spark_cluster() as master:
    subprocess.run(["fakebroker", "history", "decode", "--master", master, ...])
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from fakebroker.analysis.pipeline.java import java_home

START_S: Final = 90
_FAST_JVM: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_MASTER, _WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"


@contextmanager
def spark_cluster(workers: int = 2, cores: int = 1, memory: str = "768m") -> Iterator[str]:
    """The address of the master of a cluster that lives as long as the block; `cores` and `memory` are a worker's."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="fakebroker-spark-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        master = _start(stack, folder / "master", _MASTER, "--port", "0", "--webui-port", "0")
        address = _logged(folder / "master", r"Starting Spark master at (spark://\S+)", master)
        sizes = ["--cores", str(cores), "--memory", memory, "--webui-port", "0"]
        started = [
            (name, _start(stack, folder / name, _WORKER, *sizes, "--work-dir", str(folder / f"{name}-work"), address))
            for name in (f"worker-{number}" for number in range(workers))
        ]
        for name, worker in started:
            _logged(folder / name, r"Successfully registered with (master)", worker)
        yield address


def _start(stack: ExitStack, log: Path, main: str, *arguments: str) -> "subprocess.Popen[bytes]":
    import pyspark

    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    environment = {
        **os.environ,
        "JAVA_HOME": java_home(),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_JAVA_OPTS": _FAST_JVM,
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable,
    }
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(program), main, "--host", "127.0.0.1", *arguments],
            stdout=out,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,  # the launcher is a shell: both end together
        )
    stack.callback(_end, process)
    return process


def _end(process: "subprocess.Popen[bytes]") -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, 9)
    process.wait()


def _logged(log: Path, pattern: str, process: "subprocess.Popen[bytes]") -> str:
    """What a process says of itself in its log, once it does."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        text = log.read_text("utf-8", "replace")
        if found := re.search(pattern, text):
            return found[1]
        assert process.poll() is None, f"{log.name} ended: {text[-2000:]}"
        time.sleep(0.05)
    raise AssertionError(f"{log.name} did not start within {START_S} s: {log.read_text('utf-8', 'replace')[-2000:]}")
