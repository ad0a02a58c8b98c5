"""The examples of docs/reference/http.md and docs/explanation/transactions.md run."""

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import confluent_kafka
import pytest

from tests.support.serving import controlled

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_commands_of_the_page_run(tmp_path: Path) -> None:
    """Each curl and ctl command is answered without an error, in the order of the page."""
    commands = commands_of("reference/http.md")
    assert len(commands) > 30
    with controlled("--control-host-access") as url:
        shown = run_all(commands, url, tmp_path)
    assert '{"is_same"' not in shown
    assert "no difference" in shown


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_commands_about_transactions_run(tmp_path: Path) -> None:
    """Those of docs/explanation/transactions.md see an open transaction, abort it, and see that it was aborted."""
    commands = commands_of("explanation/transactions.md")
    assert len(commands) > 8
    with controlled("--topic", "orders:1") as url:
        with urllib.request.urlopen(f"{url}/bootstrap") as answer:
            bootstrap = json.load(answer)
        producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "transactional.id": "copier"})
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce("orders", b"a")
        producer.flush(30)
        shown = run_all(commands, url, tmp_path)
    assert "transaction copier: Ongoing" in shown
    assert "transaction copier: CompleteAbort" in shown


def commands_of(page: str) -> list[str]:
    """What a page of docs has for a shell that controls a broker."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / page).read_text(), re.S)
    return [line for block in blocks for line in block.splitlines() if line.startswith(("curl", "fakebroker ctl"))]


def run_all(commands: list[str], url: str, folder: Path) -> str:
    """Run the commands at the broker that `url` controls, until one fails, which none may. Returns what they show."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "FAKEBROKER_CONTROL_URL": url}
    script = "\n".join(["set -eux", *commands]).replace("localhost:8092", url.removeprefix("http://"))
    run = subprocess.run(
        ["bash", "-c", script], env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-1000:]
    return run.stdout
