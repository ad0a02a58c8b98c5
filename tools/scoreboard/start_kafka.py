"""Start a real Kafka: of one broker in this process, of several in processes of their own (kafka_cluster.py).

    python -m tools.scoreboard.start_kafka 4.3.1 PORT SETTINGS_FILE FOLDER NODES [controlled]

With "controlled" a single broker has a process of its own as well, so that it can be stopped and started.

Its jars are those of `make setup-java`. Ends with status 3 when they, or Java, are missing.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.scoreboard.kafka_cluster import Cluster, write_properties

ROOT = Path(__file__).resolve().parents[2]
HOST = "127.0.0.1"
NEWEST = "4.3.1"
MISSING = 3
# A broker that starts fast and lives for minutes: the cheap compiler and the cheap collector.
_JVM = (
    "-Xms128m",
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)
_CONTROLLER = re.compile(r"CONTROLLER://[^:,]*:(\d+)")


def main(release: str, port: str, settings_file: str, folder: str, nodes: str = "1", controlled: str = "") -> None:
    """Write the properties, format the folder, become the broker, or start several."""
    why_not_or_exit(release)
    settings = read_settings(Path(settings_file))
    if int(nodes) == 1 and not controlled:
        _become_broker(release, int(port), settings, Path(folder))
    else:
        _run_cluster(release, int(port), int(nodes), settings, Path(folder))


def _run_cluster(release: str, port: int, nodes: int, settings: dict[str, str], folder: Path) -> None:
    properties = folder / "format.properties"
    lines = {**_base(port, release, {}), "log.dirs": str(folder / "formatted")}
    write_properties(properties, lines)
    formatted = _formatted(release, properties, folder / "formatted")
    ports = [port, *(free_port() for _ in range(nodes))]
    Cluster(java(release), release, ports, settings, formatted, folder).run()


def _become_broker(release: str, port: int, settings: dict[str, str], folder: Path) -> None:
    data = folder / "log"
    properties = folder / "server.properties"
    lines = {**_base(port, release, settings), "log.dirs": str(data), **settings}
    write_properties(properties, lines)
    shutil.copytree(_formatted(release, properties, data), data)
    command = [*java(release), "kafka.Kafka", str(properties)]
    os.execvp(command[0], command)


def why_not(release: str) -> str | None:
    """Why no Kafka of this release can be started here; None if one can."""
    if shutil.which("java") is None:
        return "no java on the PATH"
    if not (_jars(release) / f".complete-{release}").exists():
        return f"no jars of Kafka {release} in .java (make setup-java)"
    return None


def why_not_or_exit(release: str) -> None:
    """Say why no Kafka of this release can be started here, and exit with status 3; return if one can."""
    if why := why_not(release):
        print(f"start_kafka: {why}", file=sys.stderr)
        raise SystemExit(MISSING)


def java(release: str, options: Sequence[str] = ()) -> list[str]:
    """The beginning of a command line that runs a class of this release."""
    return ["java", *_JVM, *options, "-cp", f"{_jars(release)}/*"]


def _jars(release: str) -> Path:
    return ROOT / ".java" / ("lib" if release == NEWEST else f"lib-{release}")


def read_settings(path: Path) -> dict[str, str]:
    """The lines key=value of a file."""
    pairs = [line.partition("=") for line in path.read_text(encoding="utf-8").splitlines() if line]
    return {name: value for name, _, value in pairs}


def _base(port: int, release: str, settings: dict[str, str]) -> dict[str, str]:
    """What one broker needs; few partitions of internal topics that no recording shows, as a new log costs time."""
    controller = _CONTROLLER.search(settings.get("listeners", ""))
    controller_port = int(controller[1]) if controller else free_port()
    base = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": f"1@{HOST}:{controller_port}",
        "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller_port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.num.partitions": "3",
        "transaction.state.log.min.isr": "1",
    }
    if release != NEWEST:
        return base
    return base | {
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.num.partitions": "3",
        "share.coordinator.state.topic.min.isr": "1",
    }


def _formatted(release: str, properties: Path, data: Path) -> Path:
    """A formatted, empty data folder to be copied: formatting costs a JVM, and its result is always the same."""
    made = ROOT / ".java" / f"scoreboard-{release}"
    if not made.exists():
        command = ["kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c", str(properties)]
        subprocess.run([*java(release), *command], check=True, capture_output=True, timeout=60)
        copy = made.with_name(f"{made.name}-{os.getpid()}")
        data.rename(copy)
        try:
            copy.rename(made)
        except OSError:  # another start was faster
            shutil.rmtree(copy)
    return made


def free_port() -> int:
    """A port of the loopback address that is free now."""
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


if __name__ == "__main__":
    main(*sys.argv[1:])
