"""What is checked of wheels and sdists, and which versions of dependencies `make try-lowest` takes."""

import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tools.distribution import __main__ as command
from tools.distribution import lowest
from tools.distribution.contents import difference, problems, sdist_problems
from tools.distribution.tag import tag_problems
from tools.distribution.trying import SMOKE, extras, interpreter
from tools.stages import ROOT


def wheel(path: Path, *names: str) -> Path:
    """A wheel with these files, which contain their own names."""
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, name)
    return path


def sdist(path: Path, *names: str) -> Path:
    """An sdist with these empty files."""
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(f"fakebroker-1.0/{name}"))
    return path


GOOD = ("fakebroker/__init__.py", "pyspark_fakebroker.py", "fakebroker-1.0.dist-info/METADATA")


def test_a_wheel_has_the_package_and_nothing_else(tmp_path: Path) -> None:
    """Tests, recordings and compiled files are named, and so is a top-level module that is missing."""
    assert list(problems(wheel(tmp_path / "fakebroker-1.whl", *GOOD))) == []
    strange = ("fakebroker/tests/test_a.py", "recordings/a.jsonl", "fakebroker/a.pyc")
    found = list(problems(wheel(tmp_path / "fakebroker-2.whl", *GOOD[:1], *strange)))
    assert [each.removeprefix("fakebroker-2.whl: ") for each in found] == [
        "fakebroker/tests/test_a.py does not belong into a wheel",
        "recordings/a.jsonl is outside of fakebroker and pyspark_fakebroker.py",
        "fakebroker/a.pyc does not belong into a wheel",
        "there is no pyspark_fakebroker.py",
    ]


def test_a_wheel_that_has_grown_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its size and the limit."""
    monkeypatch.setattr("tools.distribution.contents.MAX_BYTES", {"fakebroker": 10})
    (found,) = problems(wheel(tmp_path / "fakebroker-1.whl", *GOOD))
    assert "it should have at most 10" in found


def test_an_sdist_has_what_its_wheel_is_built_from(tmp_path: Path) -> None:
    """And no tests, no pages, no recordings."""
    good = ("fakebroker/__init__.py", "pyspark_fakebroker.py", "pyproject.toml", "PKG-INFO", "README.md")
    assert list(sdist_problems(sdist(tmp_path / "fakebroker-1.tar.gz", *good))) == []
    strange = ("tests/test_a.py", "docs/index.md", "fakebroker/a.orig")
    found = list(sdist_problems(sdist(tmp_path / "fakebroker-2.tar.gz", *good, *strange)))
    assert found == [f"fakebroker-2.tar.gz: {name} does not belong into an sdist" for name in strange]


def test_wheels_are_compared_by_content(tmp_path: Path) -> None:
    """The list of hashes is not compared: it differs with everything else."""
    record = "fakebroker-1.0.dist-info/RECORD"
    one = wheel(tmp_path / "1.whl", "a.py", "b.py", record)
    other = wheel(tmp_path / "2.whl", "a.py", "c.py")
    assert difference(one, other) == ["b.py", "c.py"]


def test_each_extra_has_a_test_for_its_clean_environment() -> None:
    """And each of these tests has an extra."""
    assert {f"test_{extra}.py" for extra in extras()} == {each.name for each in SMOKE.glob("test_*.py")}


def test_an_interpreter_is_found_by_its_name_or_path(tmp_path: Path) -> None:
    """One that does not run, such as a name of pyenv that leads nowhere, is none."""
    shim = tmp_path / "python3.12"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    assert interpreter(sys.executable) == sys.executable
    assert interpreter(str(shim)) is None
    assert interpreter("python3.99") is None


def test_a_python_that_is_not_there_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was asked for fails; of the supported ones, those that are there are tried."""
    monkeypatch.setattr(command, "try_all", lambda *_, **__: iter(()))
    monkeypatch.setattr(command, "supported", lambda: ["python3.99"])
    for names, status in (["python3.99"], 1), ([], 0):
        monkeypatch.setattr("sys.argv", ["distribution", "try", *names])
        assert command.main() == status
        assert capsys.readouterr().out == "python3.99 is not tried: this machine has no such interpreter\n"


def test_lowest_versions_are_those_of_pyproject() -> None:
    """One line for each dependency of the package and of its extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = lowest.constraints()
    assert len(lines) == len({line.split("==")[0] for line in lines})
    assert len(lines) >= len(project["dependencies"]) + 10
    assert "click==8.2.1" in lines


def test_a_dependency_without_a_lower_bound_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what would be right."""
    monkeypatch.setattr(lowest, "_requirements", lambda: iter(["pyjwt[crypto]>=2.12,<3", "click"]))
    with pytest.raises(ValueError, match="'click' has no lower bound; write NAME>=VERSION"):
        lowest.constraints()


def versions(root: Path, *, project: str, recordings: str, image: str, changelog: str) -> Path:
    """The files of a checkout that name the version."""
    (root / "recordings").mkdir()
    (root / "pyproject.toml").write_text(f'[project]\nversion = "{project}"\n')
    (root / "recordings/pyproject.toml").write_text(f'[project]\nversion = "{recordings}"\n')
    (root / "Dockerfile").write_text(f'LABEL org.opencontainers.image.version="{image}"\n')
    (root / "CHANGELOG.md").write_text(f"# Changelog\n\n## {changelog}\n\n## 0.9.0 (2026-01-01)\n")
    return root


def test_a_tag_is_the_version_of_everything(tmp_path: Path) -> None:
    """Of both packages, of the image and of the newest section of the changelog, which is no longer unreleased."""
    root = versions(tmp_path, project="1.2.3", recordings="1.2.2", image="1.2.3", changelog="1.2.3 (unreleased)")
    assert tag_problems("v1.2.3", root) == [
        "recordings/pyproject.toml has version 1.2.2; the tag is v1.2.3",
        "CHANGELOG.md has version 1.2.3 (unreleased); the tag is v1.2.3",
    ]
    (root / "recordings/pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
    (root / "CHANGELOG.md").write_text("## 1.2.3 (2026-11-28)\n")
    assert tag_problems("v1.2.3", root) == []


@pytest.mark.parametrize("tag", ["", "1.2.3", "v1.2", "v1.2.3rc1"])
def test_a_tag_is_v_and_three_numbers(tag: str) -> None:
    """Others are refused with an example."""
    assert "it should be v and three numbers, such as v1.2.3" in tag_problems(tag)[0]
