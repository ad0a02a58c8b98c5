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
RESULTS = Path(__file__).parent / "results"
_PYTHON = shlex.quote(sys.executable)
_GO = Path(__file__).parent / "kfake"
KFAKE = FOLDER / "kfake"
_COMPILE_LIMIT_S = 300


@dataclass(frozen=True)
class Target:
    """A column of the scoreboard.

    Attributes:
        name: The name of its files.
        title: The heading of its column.
        command: What `--command` gets, as it is written on the page, from the root of a checkout.
        restartable: The command that starts a single broker which the control command can stop; "" if there is none.
        control_command: What `--control-command` gets; "" for one whose brokers cannot be stopped.
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
    control_command: str = ""
    restartable: str = ""

    @property
    def is_ours(self) -> bool:
        """Whether it is a fakebroker, each of whose differences has to be explained."""
        return self.name.startswith("fakebroker")

    @property
    def played(self) -> Path:
        """The file with every case of its last run, which is not kept in the repository."""
        return FOLDER / f"{self.name}.json"

    @property
    def result(self) -> Path:
        """The file with its result, of which the page is made."""
        return RESULTS / f"{self.name}.json"


def _kafka(release: str) -> str:
    return f"{_PYTHON} -m tools.scoreboard.start_kafka {release} {{port}} {{settings_file}} {{folder}} {{nodes}}"


def _fakebroker(options: str = "") -> str:
    start = f"{_PYTHON} -m fakebroker serve --profile kafka{options} --listen {{port}} --control {{other_port}}"
    return f"{start} --nodes {{nodes}} {{racks:--rack}} {{settings:--config}}"


_CONTROL_KAFKA = f"{_PYTHON} -m tools.scoreboard.kafka_cluster {{folder}} {{action}} {{node}}"
_CONTROL_FAKEBROKER = f"{_PYTHON} -m fakebroker ctl --url http://127.0.0.1:{{other_port}} nodes {{node}} {{action}}"


def _version_of_fakebroker() -> str:
    from importlib.metadata import version

    return version("fakebroker")


def _version_of_kfake() -> str:
    found = re.search(r"pkg/kfake (\S+)", (_GO / "go.mod").read_text())
    return found[1] if found else "?"


def why_no_kfake() -> str | None:
    """Compiles it, if Go is there."""
    if shutil.which("go") is None:
        return "no go on the PATH"
    FOLDER.mkdir(exist_ok=True)
    command = ["go", "build", "-o", str(KFAKE), "."]
    try:
        built = subprocess.run(command, cwd=_GO, capture_output=True, text=True, timeout=_COMPILE_LIMIT_S)
    except subprocess.TimeoutExpired:  # without a network it waits for the module proxy
        return f"kfake is not compiled after {_COMPILE_LIMIT_S} s; go downloads its modules with GOPROXY"
    return None if built.returncode == 0 else f"kfake does not compile: {built.stderr.strip()[-200:]}"


def _version_of_librdkafka() -> str:
    from tools.scoreboard.start_librdkafka import librdkafka_version

    return librdkafka_version()


def _why_no_librdkafka() -> str | None:
    return None if find_spec("confluent_kafka") else "confluent-kafka is not installed"


def _kafka_target(name: str, version: str, release: str) -> Target:
    return Target(
        name,
        f"Kafka {version}",
        _kafka(version),
        lambda: version,
        lambda: start_kafka.why_not(version),
        release,
        side_by_side=8,
        control_command=_CONTROL_KAFKA,
        restartable=f"{_kafka(version)} controlled",
    )


TARGETS = (
    Target(
        "fakebroker",
        "fakebroker",
        _fakebroker(),
        _version_of_fakebroker,
        lambda: None,
        control_command=_CONTROL_FAKEBROKER,
        restartable=_fakebroker(),
    ),
    _kafka_target("kafka-4.3.1", "4.3.1", "4.3"),
    _kafka_target("kafka-3.9.1", "3.9.1", "4.3"),
    Target("kfake", "kfake", f"{shlex.quote(str(KFAKE))} {{port}} {{settings_file}}", _version_of_kfake, why_no_kfake),
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
        control_command=_CONTROL_FAKEBROKER,
        restartable=_fakebroker(" --as 3.9"),
    ),
    _kafka_target("kafka-3.9.1-by-3.9", "3.9.1", "3.9"),
)
# For differential play alone (tools/differential): no recordings are of this release.
TARGETS_2_1 = (
    Target(
        "fakebroker-as-2.1",
        "fakebroker --as 2.1",
        _fakebroker(" --as 2.1"),
        _version_of_fakebroker,
        lambda: None,
        "2.1",
    ),
    Target(
        "kafka-2.1.1",
        "Kafka 2.1.1",
        f"{_PYTHON} -m tools.scoreboard.start_old_kafka 2.1.1 {{port}} {{settings_file}} {{folder}}",
        lambda: "2.1.1",
        lambda: start_kafka.why_not("2.1.1"),
        "2.1",
    ),
)
