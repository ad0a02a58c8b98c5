"""Wheels in environments that have nothing but a Python, one extra, and pytest."""

import os
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tools.distribution.building import OUT, ROOT
from tools.distribution.lowest import constraints

SMOKE = Path(__file__).resolve().parent / "smoke"
WITHOUT_EXTRA = "base"
_LIMIT_S = 900


class Trial(NamedTuple):
    """One extra on one Python; `why` says what failed, and is empty if nothing did."""

    python: str
    extra: str
    why: str


def extras() -> list[str]:
    """The extras of pyproject.toml, and what everybody gets first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [WITHOUT_EXTRA, *project["optional-dependencies"]]


def supported() -> list[str]:
    """The name of the interpreter of each version that pyproject.toml names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    prefix = "Programming Language :: Python :: 3."
    return [f"python3.{each.removeprefix(prefix)}" for each in project["classifiers"] if each.startswith(prefix)]


def pythons() -> list[str]:
    """An interpreter for each supported version that this machine has."""
    return [found for name in supported() if (found := interpreter(name)) is not None]


def interpreter(name: str) -> str | None:
    """One that runs, by its name or path: pyenv puts names on the PATH that may lead nowhere. None if there is none."""
    return next((each for each in _candidates(name) if each and _runs(each)), None)


def _candidates(name: str) -> Iterator[str | None]:
    yield shutil.which(name)
    if "/" in name:
        return
    version = name.removeprefix("python")
    yield from map(str, sorted((Path.home() / ".pyenv/versions").glob(f"{version}.*/bin/{name}")))
    if shutil.which("uv") is not None:
        yield subprocess.run(["uv", "python", "find", version], capture_output=True, text=True).stdout.strip()


def _runs(python: str) -> bool:
    return subprocess.run([python, "-c", ""], capture_output=True).returncode == 0


def try_all(interpreters: Sequence[str], wanted: Sequence[str], *, is_lowest: bool = False) -> Iterator[Trial]:
    """Try each extra on each Python, with the newest versions of what it depends on, or with the lowest."""
    for python in interpreters:
        version = subprocess.run([python, "-c", "import platform; print(platform.python_version())"],
                                 capture_output=True, text=True, check=True).stdout.strip()  # fmt: skip
        for extra in wanted:
            with tempfile.TemporaryDirectory(prefix="fakebroker-try-") as folder:
                lines = constraints() if is_lowest else []
                yield Trial(version, extra, _tried(python, extra, Path(folder), lines))


def _tried(python: str, extra: str, folder: Path, constrained: Sequence[str]) -> str:
    """Install and test in a folder; what failed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    environment["PATH"] = f"{folder / 'venv/bin'}{os.pathsep}{environment['PATH']}"  # as in an activated one: for Spark
    program = str(folder / "venv/bin/python")
    (wheel,) = OUT.glob("fakebroker-*.whl")
    asked = str(wheel) if extra == WITHOUT_EXTRA else f"{wheel}[{extra}]"
    shutil.copy(SMOKE / f"test_{extra}.py", folder)
    (folder / "constraints.txt").write_text("\n".join(constrained))
    install = [program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--find-links", str(OUT)]
    install += ["--constraint", str(folder / "constraints.txt")]
    steps = (
        [python, "-m", "venv", str(folder / "venv")],
        [*install, asked, "pytest"],
        [program, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder / f"test_{extra}.py")],
    )
    for step in steps:
        done = subprocess.run(step, cwd=folder, env=environment, capture_output=True, text=True, timeout=_LIMIT_S)
        if done.returncode:
            return f"{' '.join(step[1:4])} ended with status {done.returncode}\n{done.stdout}{done.stderr}".strip()
    return ""
