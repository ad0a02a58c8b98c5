"""Which Java runs Spark."""

import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from fakebroker.analysis.pipeline import java
from fakebroker.analysis.pipeline.java import NoJava, java_home


def fake_java(folder: Path, version: str) -> Path:
    """A program that says that it is some Java."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return folder


def started_by(home: str) -> str:
    """The Java that a home starts."""
    return str(re.findall(r'exec "(.*?)"', (Path(home) / "bin" / "java").read_text())[0])


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


def test_java_home_goes_first_then_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JAVA_HOME is taken if its Java is 17 or newer, else the one on the PATH."""
    old, new, other = (
        fake_java(tmp_path / name, version)
        for name, version in (("old", "1.8.0_402"), ("new", "21.0.2"), ("other", "17"))
    )
    monkeypatch.setenv("PATH", f"{other / 'bin'}:/bin:/usr/bin")

    monkeypatch.setenv("JAVA_HOME", str(new))
    assert started_by(java_home()) == f"{new}/bin/java"
    monkeypatch.setenv("JAVA_HOME", str(old))
    assert started_by(java_home()) == f"{other}/bin/java"
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    assert started_by(java_home()) == f"{other}/bin/java"


@pytest.mark.spark
def test_without_a_java_the_one_from_pypi_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The packaged runtime starts, also with the argument of Spark's launcher that it does not understand."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("shutil.which", lambda _: None)

    home = java_home()
    program = [f"{home}/bin/java", "--add-modules=jdk.incubator.vector", "-Dsome=a b", "-version"]
    output = subprocess.run(program, capture_output=True, text=True, check=True).stderr
    assert 'version "17' in output
    assert java_home() == home


def test_without_any_java_a_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is one line, which names the extra and the way without Java."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr(java, "_packaged_java", lambda: None)

    with pytest.raises(NoJava, match=r"pip install '.*\[spark\]'.*--engine embedded") as raised:
        java_home()
    assert "\n" not in str(raised.value)


def a_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A Java that JAVA_HOME names; returns the program."""
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "new", "21")))
    return f"{tmp_path}/new/bin/java"


def test_what_starts_java_is_in_the_cache_for_this_user_alone(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same folder each time, which others cannot write to; a program that was changed there is written anew."""
    program = a_java(tmp_path, monkeypatch)

    home = java_home()
    assert Path(home).parent == cache / "fakebroker"
    assert [stat.S_IMODE(each.stat().st_mode) for each in (Path(home).parent, Path(home))] == [0o700, 0o700]
    (Path(home) / "bin" / "java").write_text("something else")
    assert java_home() == home
    assert started_by(home) == program


@pytest.mark.parametrize("wrong", ["open", "link", "foreign", "file"])
def test_a_folder_that_others_may_have_made_is_not_used(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    """One that others can write to, a link, another user's, or no folder: then this process has one of its own."""
    program = a_java(tmp_path, monkeypatch)
    usual = Path(java_home())
    match wrong:
        case "open":
            usual.chmod(0o777)
        case "link":
            usual.rename(tmp_path / "elsewhere")
            usual.symlink_to(tmp_path / "elsewhere")
        case "foreign":
            monkeypatch.setattr("os.getuid", lambda: usual.stat().st_uid + 1)
        case "file":
            shutil.rmtree(cache)
            cache.write_text("no folder")

    home = Path(java_home())
    assert home != usual
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert started_by(str(home)) == program
