"""The examples of docs/http.md run, and the image's command is one that works."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.serving import controlled

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_commands_of_the_page_run(tmp_path: Path) -> None:
    """Each curl and ctl command is answered without an error, in the order of the page."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "http.md").read_text(), re.S)
    commands = [line for block in blocks for line in block.splitlines() if line.startswith(("curl", "fakebroker ctl"))]
    assert len(commands) > 30
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with controlled() as url:
        environment = {**os.environ, "PATH": path, "FAKEBROKER_CONTROL_URL": url}
        script = "\n".join(["set -eux", *commands]).replace("localhost:8092", url.removeprefix("http://"))
        run = subprocess.run(
            ["bash", "-c", script], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )
    assert run.returncode == 0, run.stderr[-1000:]
    assert '{"is_same"' not in run.stdout
    assert "no difference" in run.stdout


def test_the_image_runs_a_command_that_exists() -> None:
    """The options of the Dockerfile's command start a broker, and its health check finds it healthy."""
    text = (ROOT / "Dockerfile").read_text()
    command: list[str] = json.loads(re.findall(r"^CMD (\[.*\])$", text, re.M)[-1])
    health: list[str] = json.loads(re.findall(r"^    CMD (\[.*\])$", text, re.M)[0])
    assert command[0] == "serve"
    options = [re.sub(r"^0\.0\.0\.0:\d+$", "0.0.0.0:0", word) for word in command[1:]]
    at = options.index("--control")
    with controlled(*options[:at], control=options[at + 1]) as line:
        url = line.partition(" ")[0]
        check = health[-1].replace("http://127.0.0.1:8092", url)
        subprocess.run([sys.executable, "-c", check], check=True, timeout=30)
