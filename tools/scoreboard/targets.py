"""The brokers of the scoreboard: how each is started, which version it is, and why it cannot be started here."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tools.scoreboard import start_kafka

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".scoreboard"
_PYTHON = shlex.quote(sys.executable)
_GO = Path(__file__).parent / "kfake"
_KFAKE = FOLDER / "kfake"


@dataclass(frozen=True)
class Target:
    """A column of the scoreboard.

    Attributes:
        name: The name of its files.
        title: The heading of its column.
        command: What `--command` gets, as it is written on the page, from the root of a checkout.
        version: Its version, asked when it has been judged.
        why_not: Why it cannot be started here; None if it can.
        release: The release of the recordings.
        side_by_side: How many cases are played at a time on one broker.
    """

    name: str
    title: str
    command: str
    version: Callable[[], str]
    why_not: Callable[[], str | None]
    release: str = "4.3"
    side_by_side: int = 16

    @property
    def result(self) -> Path:
        """The file with its result."""
        return FOLDER / f"{self.name}.json"


def _kafka(release: str) -> str:
    return f"{_PYTHON} -m tools.scoreboard.start_kafka {release} {{port}} {{settings_file}} {{folder}}"


def _fakebroker(options: str = "") -> str:
    return f"{_PYTHON} -m fakebroker serve --profile kafka{options} --listen {{port}} {{settings:--config}}"


def _version_of_fakebroker() -> str:
    from importlib.metadata import version

    commit = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return f"{version('fakebroker')} {commit.stdout.strip()}".strip()


def _version_of_kfake() -> str:
    found = re.search(r"pkg/kfake (\S+)", (_GO / "go.mod").read_text())
    return found[1] if found else "?"


def _why_no_kfake() -> str | None:
    """Compiles it, if Go is there."""
    if shutil.which("go") is None:
        return "no go on the PATH"
    FOLDER.mkdir(exist_ok=True)
    built = subprocess.run(["go", "build", "-o", str(_KFAKE), "."], cwd=_GO, capture_output=True, text=True)
    return None if built.returncode == 0 else f"kfake does not compile: {built.stderr.strip()[-200:]}"


def _version_of_librdkafka() -> str:
    from tools.scoreboard.start_librdkafka import librdkafka_version

    return librdkafka_version()


def _why_no_librdkafka() -> str | None:
    return None if find_spec("confluent_kafka") else "confluent-kafka is not installed"


def _kafka_target(name: str, version: str, release: str) -> Target:
    return Target(
        name, f"Kafka {version}", _kafka(version), lambda: version, lambda: start_kafka.why_not(version), release, 8
    )


TARGETS = (
    Target("fakebroker", "fakebroker", _fakebroker(), _version_of_fakebroker, lambda: None),
    _kafka_target("kafka-4.3.1", "4.3.1", "4.3"),
    _kafka_target("kafka-3.9.1", "3.9.1", "4.3"),
    Target(
        "kfake", "kfake", f"{shlex.quote(str(_KFAKE))} {{port}} {{settings_file}}", _version_of_kfake, _why_no_kfake
    ),
    Target(
        "librdkafka",
        "librdkafka's mock",
        f"{_PYTHON} -m tools.scoreboard.start_librdkafka {{port}}",
        _version_of_librdkafka,
        _why_no_librdkafka,
    ),
)
# By the recordings of 3.9.1: only those that serve that release on purpose.
TARGETS_3_9 = (
    Target(
        "fakebroker-as-3.9",
        "fakebroker --as 3.9",
        _fakebroker(" --as 3.9"),
        _version_of_fakebroker,
        lambda: None,
        "3.9",
    ),
    _kafka_target("kafka-3.9.1-by-3.9", "3.9.1", "3.9"),
)
