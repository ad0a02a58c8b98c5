"""The lowest version of each dependency that pyproject.toml allows, as constraints for pip."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tools.distribution.building import ROOT

FOLDER: Final = ROOT / "build/lowest"
_NAME: Final = r"(?P<name>[\w.-]+)(?:\[[\w,-]+\])?"


def constraints() -> list[str]:
    """A line `name==version` for each dependency of the package and of its extras, sorted.

    Raises ValueError if a dependency has no lower bound.
    """
    return sorted({line for each in _requirements() if (line := _constraint(each)) is not None})


def _requirements() -> Iterator[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    yield from project["dependencies"]
    for extra in project["optional-dependencies"].values():
        yield from extra


def _constraint(requirement: str) -> str | None:
    """None for packages of this repository, which have the version that is built."""
    if requirement.startswith("fakebroker"):
        return None
    found = re.match(rf"{_NAME}\s*>=\s*(?P<version>[\w.]+)", requirement)
    if found is None:
        raise ValueError(f"pyproject.toml: {requirement!r} has no lower bound; write NAME>=VERSION")
    return f"{found['name']}=={found['version']}"


def set_up(python: str) -> None:
    """Make an environment in `FOLDER` for `make tests`, with the lowest versions. Raises CalledProcessError."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "constraints.txt").write_text("\n".join([*constraints(), ""]))
    (FOLDER / "requirements.txt").write_text(_of_group("test"))
    subprocess.run([python, "-m", "venv", "--clear", str(FOLDER / "venv")], check=True)
    pip = [str(FOLDER / "venv/bin/python"), "-m", "pip", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "install", "--quiet", "--editable", str(ROOT), "--requirement", str(FOLDER / "requirements.txt"),
         "--constraint", str(FOLDER / "constraints.txt")],
        check=True,
    )  # fmt: skip


def installed() -> dict[str, str]:
    """The version of each constrained package that is installed in the environment of `FOLDER`."""
    program = "import importlib.metadata as m; [print(d.name, d.version) for d in m.distributions()]"
    done = subprocess.run([str(FOLDER / "venv/bin/python"), "-c", program], capture_output=True, text=True, check=True)
    lines = (line.split() for line in done.stdout.splitlines())
    return {name.lower().replace("_", "-"): version for name, version in lines}


def _of_group(name: str) -> str:
    command = [sys.executable, str(Path(ROOT) / "scripts/requirements"), name]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
