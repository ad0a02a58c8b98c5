"""kafkajs and franz-go in tests of their own languages, over Kafka and HTTP only.

The stories are tests/clients/node/*.test.js and tests/clients/go/*_test.go.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.serving import controlled

CLIENTS = Path(__file__).parent
ROOT = CLIENTS.parents[1]
MODULES = ROOT / ".go"

pytestmark = [pytest.mark.clients, pytest.mark.timeout(300)]

needs_node = pytest.mark.skipif(
    shutil.which("node") is None or not (CLIENTS / "node" / "node_modules" / "kafkajs").exists(),
    reason="KAFKAJS IS NOT TESTED: needs node on the PATH and what `make setup-node` installs",
)
needs_go = pytest.mark.skipif(
    shutil.which("go") is None or not (MODULES / "complete").exists(),
    reason="FRANZ-GO IS NOT TESTED: needs go on the PATH and the modules that `make setup-go` fetches",
)


@pytest.fixture
def control() -> Iterator[str]:
    """The URL of the control API of a `fakebroker serve`, as a team of another language starts it."""
    with controlled() as url:
        yield url


def run(control: str, folder: str, *command: str, **environment: str) -> str:
    """The output of a test runner that must succeed."""
    ended = subprocess.run(
        command,
        cwd=CLIENTS / folder,
        env={**os.environ, "FAKEBROKER_CONTROL_URL": control, **environment},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.node
@needs_node
def test_kafkajs_lives_its_stories(control: str) -> None:
    """Eight days, a coordinator that moves and a lost answer, run by node:test."""
    output = run(control, "node", "node", "--test", "--test-reporter=tap")

    found = sum(len(re.findall(r"^test\(", file.read_text(), re.M)) for file in CLIENTS.glob("node/*.test.js"))
    assert found > 0
    assert len(re.findall(r"^ok \d+ - (?!.*# SKIP)", output, re.M)) == found


@pytest.mark.go
@needs_go
def test_franz_go_lives_its_stories(control: str) -> None:
    """The same, run by `go test`."""
    offline = {"GOMODCACHE": str(MODULES / "modules"), "GOPROXY": "off", "GOTOOLCHAIN": "local"}
    output = run(control, "go", "go", "test", "-count=1", "-v", "./...", **offline)

    found = sum(len(re.findall(r"^func Test", file.read_text(), re.M)) for file in CLIENTS.glob("go/*_test.go"))
    assert found > 0
    assert len(re.findall(r"^--- PASS: ", output, re.M)) == found


@pytest.mark.parametrize(("language", "stories"), [("js", "node/*.test.js"), ("go", "go/*_test.go")])
def test_what_the_page_shows_is_run(language: str, stories: str) -> None:
    """Every example of docs/how-to/other-languages.md is, word for word, part of a story."""
    examples = re.findall(
        rf"```{language}\n(.*?)```", (ROOT / "docs" / "how-to" / "other-languages.md").read_text(), re.S
    )
    found = [file.read_text() for file in CLIENTS.glob(stories)]

    assert len(examples) > 1
    assert [example for example in examples if not any(example in story for story in found)] == []
