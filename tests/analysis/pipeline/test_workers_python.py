"""The Python of Spark's workers."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from fakebroker import FakeBroker
from fakebroker.analysis.pipeline.workers_python import OtherPython, check_workers_python, use_this_python

NAMES = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment that names no Python for workers."""
    for name in (*NAMES, "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def running(environment: pytest.MonkeyPatch, python: str, master: str = "local[2]") -> None:
    """As if a session ran, with such workers."""
    context = SimpleNamespace(master=master, pythonExec=python)
    active = SimpleNamespace(SparkContext=SimpleNamespace(_active_spark_context=context))
    environment.setitem(sys.modules, "pyspark", active)


def python_without_packages(folder: Path) -> str:
    """A program that runs this Python without the packages that are installed."""
    program = folder / "python3"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
    program.chmod(0o755)
    return str(program)


def test_this_python_is_named_unless_another_is(environment: pytest.MonkeyPatch) -> None:
    """Of what the environment names nothing changes, and nothing where spark-submit has started Java."""
    use_this_python()
    assert [os.environ[name] for name in NAMES] == [sys.executable] * 2

    environment.setenv("PYSPARK_PYTHON", "/other/python")
    environment.delenv("PYSPARK_DRIVER_PYTHON")
    use_this_python()
    assert [os.environ[name] for name in NAMES] == ["/other/python"] * 2

    for name in NAMES:
        environment.delenv(name)
    environment.setenv("PYSPARK_GATEWAY_PORT", "1")
    use_this_python()
    assert not set(NAMES) & set(os.environ)


def test_workers_without_the_package_are_an_error(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It names their Python, and what to set; so does a Python that does not start."""
    for python in (python_without_packages(tmp_path), str(tmp_path / "missing")):
        running(environment, python)
        with pytest.raises(OtherPython, match=re.escape(f"workers run {python}, ")) as raised:
            check_workers_python()
        assert f"set PYSPARK_PYTHON={sys.executable}, or `import pyspark_fakebroker` before" in str(raised.value)


def test_workers_elsewhere_and_equal_ones_are_none(environment: pytest.MonkeyPatch) -> None:
    """The same Python has the package; the workers of a cluster have Pythons of their own."""
    running(environment, sys.executable)
    check_workers_python()
    running(environment, "/on/the/cluster/python", "spark://h:7077")
    check_workers_python()
    environment.delitem(sys.modules, "pyspark")
    check_workers_python()


@pytest.mark.spark
@pytest.mark.slow
def test_a_program_of_a_venv_that_is_not_activated_reads(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With another `python3` first on the PATH, after the import that docs/how-to/spark.md shows."""
    page = (ROOT / "docs" / "how-to" / "spark.md").read_text()
    (example,) = re.findall(r"```python\n(import pyspark_fakebroker.*?)```", page, re.S)
    python_without_packages(tmp_path)
    environment.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    from fakebroker.analysis.pipeline.java import java_home

    environment.setenv("JAVA_HOME", java_home())
    with FakeBroker() as broker:
        broker.create_topic("orders").produce("a", "b")
        read = (
            f'rows = spark.read.format("fakebroker").option("kafka.bootstrap.servers", "{broker.bootstrap}")'
            '.option("subscribe", "orders").load().count()\nprint("rows:", rows)\nspark.stop()\n'
        )
        (tmp_path / "prog.py").write_text(example + read)
        done = subprocess.run(
            [sys.executable, "prog.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip

    assert "rows: 2" in done.stdout, done.stderr[-2000:]
