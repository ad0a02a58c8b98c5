"""Start a real Kafka of a release that needs ZooKeeper, and a ZooKeeper for it.

    python -m tools.scoreboard.start_old_kafka 2.1.1 PORT SETTINGS_FILE FOLDER

Its jars are those of `scripts/set-up-java 2.1.1`. Ends with status 3 when they, or Java, are missing.
"""

import os
import subprocess
import sys
from pathlib import Path

from tools.scoreboard.kafka_cluster import write_properties
from tools.scoreboard.start_kafka import HOST, free_port, java, read_settings, why_not_or_exit


def main(release: str, port: str, settings_file: str, folder: str) -> None:
    """Write the properties, start ZooKeeper, become the broker: both are in one process group, which ends them."""
    why_not_or_exit(release)
    home = Path(folder)
    command = java(release, ["-Dzookeeper.jmx.log4j.disable=true"])
    zookeeper_port = free_port()
    subprocess.Popen([*command, *_zookeeper(home, zookeeper_port)], stdin=subprocess.DEVNULL)
    properties = home / "server.properties"
    write_properties(properties, _base(int(port), zookeeper_port, home) | read_settings(Path(settings_file)))
    os.execvp(command[0], [*command, "kafka.Kafka", str(properties)])


def _zookeeper(home: Path, port: int) -> list[str]:
    """The class and the argument that start it; the broker tries to connect until it is there."""
    config = home / "zookeeper.properties"
    lines = {
        "dataDir": str(home / "zookeeper"),
        "clientPort": str(port),
        "clientPortAddress": HOST,
        "maxClientCnxns": "0",
        "admin.enableServer": "false",
    }
    write_properties(config, lines)
    return ["org.apache.zookeeper.server.quorum.QuorumPeerMain", str(config)]


def _base(port: int, zookeeper_port: int, home: Path) -> dict[str, str]:
    return {
        "broker.id": "1",
        "listeners": f"PLAINTEXT://{HOST}:{port}",
        "zookeeper.connect": f"{HOST}:{zookeeper_port}",
        "zookeeper.connection.timeout.ms": "60000",
        "log.dirs": str(home / "log"),
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.num.partitions": "3",
        "transaction.state.log.min.isr": "1",
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
