"""The Java client through its ordinary API (tests/clients/java/ClientStory.java), where its jars are at hand."""

import shutil
import subprocess
from pathlib import Path

import pytest

from fakebroker import FakeBroker
from tests.clients.story import KEEPS_OLD_RECORDS

ROOT = Path(__file__).resolve().parents[2]
JARS = ROOT / ".java" / "lib"
STORY = Path(__file__).parent / "java" / "ClientStory.java"

pytestmark = [
    KEEPS_OLD_RECORDS,
    pytest.mark.clients,
    pytest.mark.java,
    pytest.mark.skipif(
        shutil.which("java") is None or not list(JARS.glob("kafka-clients-*.jar")),
        reason="THE JAVA CLIENT IS NOT TESTED: needs java on the PATH and the jars that `make setup-java` fetches",
    ),
]


@pytest.mark.timeout(300)
def test_the_java_client_lives_its_story(fakebroker: FakeBroker) -> None:
    """Codecs, a third member, resume, offsets by time in ordinary and random logs, a static member, four assignors."""
    command = [
        "java",
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
        "-cp",
        f"{JARS}/*",
        str(STORY),
        fakebroker.bootstrap,
    ]
    run = subprocess.run(command, capture_output=True, text=True, timeout=280)

    assert run.returncode == 0, run.stdout + run.stderr
    assert [line.split()[1] for line in run.stdout.splitlines() if line.startswith("ok ")] == [
        "none", "gzip", "snappy", "lz4", "zstd", "third", "resume", "times", "random-times", "static", "assignors",
    ]  # fmt: skip
