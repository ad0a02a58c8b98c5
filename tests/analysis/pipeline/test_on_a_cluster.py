"""The pipeline on a standalone cluster: one master and two workers, each a process of its own."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyspark
import pytest

import pyspark_fakebroker
from fakebroker import VirtualBroker
from fakebroker.analysis.pipeline.java import java_home
from fakebroker.analysis.pipeline.publish import Published
from tests.support.histories import make_history
from tests.support.published import differences
from tests.support.spark_cluster import spark_cluster
from tools.spark_loop import write_histories

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SMALL = ("--conf", "spark.executor.memory=512m", "--conf", "spark.driver.memory=512m",
         "--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.sql.shuffle.partitions=2",
         "--conf", "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
         "--conf", "spark.executor.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")  # fmt: skip
SCENARIO = """about: A group is empty after its member left, or not.
topics: {orders: {partitions: 1}}
actors: [a]
timeline:
  - {a: join billing, topics: [orders]}
  - {pass: 0s..9s}
  - {a: leave}
  - expect: {group: billing, state: Empty}
"""


@pytest.fixture(scope="module")
def master() -> Iterator[str]:
    """The cluster's address."""
    with spark_cluster() as address:
        yield address


def run(folder: Path, *command: str, program: Sequence[str] = (sys.executable, "-m", "fakebroker")) -> None:
    """Run a command in a process of its own."""
    done = subprocess.run([*program, *command], cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def test_the_cluster_makes_the_tables_of_plain_python(master: str, tmp_path: Path) -> None:
    """Ingest, build, decode, what-if and a campaign give the same rows on a cluster as with the embedded engine."""
    history = write_histories(tmp_path, 2, 60)[0]
    assert history.rows == make_history(1, steps=60).rows
    (tmp_path / "left.yaml").write_text(SCENARIO)
    for where, options in (("embedded", ("--engine", "embedded")), ("cluster", ("--master", master, *SMALL))):
        run(tmp_path, "pipeline", "ingest", "journals", "--tables", f"{where}/pipeline", *options)
        run(tmp_path, "pipeline", "build", "--tables", f"{where}/pipeline", *options)
        data = f"data/{history.run}"
        run(tmp_path, "history", "decode", data, "--source", "log", "--tables", f"{where}/history", *options)
        retentions = ("--retention", "6h,1d,7d")
        run(
            tmp_path,
            "history",
            "whatif",
            "--tables",
            f"{where}/history",
            *retentions,
            "--out",
            f"{where}/whatif",
            *options,
        )
        run(tmp_path, "campaign", "run", "left.yaml", "--seeds", "40", "--tables", f"{where}/campaign", *options)

    for folder in ("pipeline", "history", "whatif", "campaign"):
        one, other = (Published(tmp_path / where / folder) for where in ("embedded", "cluster"))
        assert differences(one, other) == []
        assert one.tables


def test_spark_submit_runs_the_same_commands(master: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the master and with the settings that it is given, also those that fakebroker has other defaults for."""
    with VirtualBroker() as broker:
        broker.client("svc-1").join("billing", ["orders"])
        broker.journal.save(tmp_path / "run.jsonl")
    monkeypatch.setenv("JAVA_HOME", java_home())
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", str(Path(pyspark_fakebroker.__file__).parent))
    submit = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    event_log = ("enabled=true", "compress=false", f"dir={tmp_path.as_uri()}")
    settings = (word for each in event_log for word in ("--conf", f"spark.eventLog.{each}"))
    program = (submit, "--master", master, *SMALL, *settings, pyspark_fakebroker.__file__)

    run(tmp_path, "pipeline", "ingest", "run.jsonl", "--tables", "submitted", program=program)
    run(tmp_path, "pipeline", "ingest", "run.jsonl", "--tables", "embedded", "--engine", "embedded")

    one, other = Published(tmp_path / "embedded"), Published(tmp_path / "submitted")
    assert differences(one, other) == []
    assert other.manifest["engine"] == "spark"
    (log,) = tmp_path.glob("*app-*")  # an application of the cluster, and not of this machine alone
    events = "".join(file.read_text() for file in (log.rglob("events_*") if log.is_dir() else [log]))
    assert '"spark.sql.shuffle.partitions":"2"' in events
