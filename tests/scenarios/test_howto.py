"""The examples of docs/how-to/scenarios.md do what the page says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.serving import controlled

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "scenarios.md").read_text()
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with every file of the page; those in its root are also in `scenarios`."""
    blocks = re.findall(r"```(?:yaml|python)\n# (\S+)\n(.*?)```", PAGE, re.S)
    assert len(blocks) == 5
    for name, text in blocks:
        places = [name, f"scenarios/{name}"] if "/" not in name and name.endswith(".yaml") else [name]
        for place in places:
            path = tmp_path / place
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
    return tmp_path


def commands(*beginnings: str) -> list[str]:
    """The commands of the page that begin like this, in its order."""
    blocks = re.findall(r"```sh\n(.*?)```", PAGE, re.S)
    return [line for block in blocks for line in block.splitlines() if line.startswith(beginnings)]


def run(folder: Path, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run commands until one fails."""
    return subprocess.run(
        ["bash", "-euxc", script],
        cwd=folder,
        env={**os.environ, "PATH": PATH, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_the_commands_for_ci_run(files: Path) -> None:
    """Every scenario of the page is played, approved, and played again."""
    wanted = commands("fakebroker scenario run")
    assert len(wanted) == 5
    played = run(files, "\n".join(wanted))

    assert played.returncode == 0, played.stderr + played.stdout
    assert (files / "scenarios" / "coordinator-moves.transcript").exists()
    assert (files / "build" / "scenarios.xml").exists()


@pytest.mark.clients
def test_the_pytest_example_passes(files: Path) -> None:
    """With a real client."""
    played = run(files, f"{sys.executable} -m pytest -q -p no:cacheprovider tests")

    assert played.returncode == 0, played.stdout


def test_the_python_example_runs(files: Path) -> None:
    """It prints that nothing is wrong."""
    played = run(files, f"{sys.executable} play.py")

    assert (played.returncode, played.stdout) == (0, "0 []\n"), played.stderr


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_commands_for_a_running_broker_run(files: Path) -> None:
    """A scenario is sent, waited for, and looked at."""
    wanted = commands("curl", "fakebroker ctl")
    assert len(wanted) == 5
    with controlled() as url:
        script = "\n".join(wanted).replace("localhost:8092", url.removeprefix("http://"))
        played = run(files, script, FAKEBROKER_CONTROL_URL=url)

    assert played.returncode == 0, played.stderr + played.stdout
    assert "p1 passed" in played.stdout
    assert '"state":"failed"' not in played.stdout
