"""A real Kafka of several brokers and a controller of its own, whose brokers can be stopped and started.

start_kafka.py runs one if it is asked for several brokers. Another process controls it through a socket in its folder:

    python -m tools.scoreboard.kafka_cluster FOLDER ACTION NODE     ACTION is stop, kill, restart, freeze or thaw
"""

import base64
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from fakebroker.client.cluster.errors import ClusterError
from fakebroker.protocol.listeners import Address
from fakebroker.scenarios.conformance.access import Access, BrokerClient

HOST = "127.0.0.1"
CONTROLLER = 100
READY_S = 60
STOPPED_S = 30
_SOCKET = "control.sock"
_LOOK_S = 0.2
_LINE_BYTES = 4096
# A broker that is gone is missed soon, and leaders stay where a test has moved them.
_SETTINGS = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": "4000",
    "auto.leader.rebalance.enable": "false",
    "unclean.leader.election.enable": "false",
    "min.insync.replicas": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "3",
}
_REPLICATED = (
    "offsets.topic.replication.factor",
    "default.replication.factor",
    "transaction.state.log.replication.factor",
)
_REPLICATED_SINCE_4 = ("share.coordinator.state.topic.replication.factor",)


def write_properties(path: Path, lines: Mapping[str, str]) -> None:
    """Write a file of properties."""
    path.write_text("".join(f"{name}={value}\n" for name, value in lines.items()), encoding="utf-8")


class Cluster:
    """The processes of a cluster: brokers 1 to `nodes`, with racks r1 and so on, and a controller.

    Args:
        java: The beginning of a command line that runs a class of Kafka.
        release: "4.3.1", or an older one.
        ports: Of the brokers, in the order of their ids, and of the controller.
        settings: Of all brokers.
        formatted: A formatted data folder of a single broker, which is copied.
        folder: For everything that is written.
    """

    def __init__(
        self,
        java: list[str],
        release: str,
        ports: list[int],
        settings: Mapping[str, str],
        formatted: Path,
        folder: Path,
    ) -> None:
        self._java = java
        self._ports = dict(enumerate(ports[:-1], 1))
        self._settings = {**self._common(release, ports[-1]), **settings}
        self._folder = folder
        self._formatted = formatted
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._frozen: set[int] = set()
        for node in (CONTROLLER, *self._ports):
            self._write(node, ports[-1])

    def _common(self, release: str, controller_port: int) -> dict[str, str]:
        names = [*_REPLICATED, *(_REPLICATED_SINCE_4 if release >= "4" else ())]
        return {
            "controller.quorum.voters": f"{CONTROLLER}@{HOST}:{controller_port}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            **_SETTINGS,
            **({"share.coordinator.state.topic.min.isr": "1"} if release >= "4" else {}),
            **dict.fromkeys(names, str(len(self._ports))),
        }

    def _write(self, node: int, controller_port: int) -> None:
        """The properties and the data folder of a node."""
        data = self._folder / f"data-{node}"
        if node == CONTROLLER:
            own = {"process.roles": "controller", "listeners": f"CONTROLLER://{HOST}:{controller_port}"}
        else:
            listener = f"PLAINTEXT://{HOST}:{self._ports[node]}"
            own = {"process.roles": "broker", "listeners": listener, "broker.rack": f"r{node}"}
        lines = {**self._settings, **own, "node.id": str(node), "log.dirs": str(data)}
        write_properties(self._properties(node), lines)
        shutil.copytree(self._formatted, data)
        meta = data / "meta.properties"
        text = re.sub(r"(?m)^node\.id=.*", f"node.id={node}", meta.read_text(encoding="utf-8"))
        meta.write_text(re.sub(r"(?m)^directory\.id=.*", f"directory.id={_directory_id(node)}", text), encoding="utf-8")

    def _properties(self, node: int) -> Path:
        return self._folder / f"server-{node}.properties"

    def run(self) -> None:
        """Start all nodes, and do what is asked for through the socket until SIGTERM."""
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(self._folder / _SOCKET))
            listening.listen()
            for node in (CONTROLLER, *self._ports):
                self._start(node)
            while True:
                client, _ = listening.accept()
                with client:
                    action, number = client.recv(_LINE_BYTES).decode().split()
                    client.sendall(self._answer(action, int(number)).encode())

    def _answer(self, action: str, node: int) -> str:
        """Do it; "" if it was done, else why not."""
        actions: dict[str, Callable[[int], None]] = {
            "stop": self._stop,
            "kill": self._kill,
            "restart": self._restart,
            "freeze": self._freeze,
            "thaw": self._thaw,
        }
        if action not in actions or node not in self._ports:
            return f"{action} {node}: actions are {', '.join(actions)}, brokers are {', '.join(map(str, self._ports))}"
        try:
            actions[action](node)
        except (TimeoutError, subprocess.TimeoutExpired) as error:
            return str(error)
        return ""

    def _start(self, node: int) -> None:
        command = [*self._java, "kafka.Kafka", str(self._properties(node))]
        self._processes[node] = subprocess.Popen(command, stdin=subprocess.DEVNULL)

    def _stop(self, node: int) -> None:
        self._processes[node].terminate()
        self._processes[node].wait(STOPPED_S)

    def _kill(self, node: int) -> None:
        self._processes[node].kill()
        self._processes[node].wait(STOPPED_S)

    def _restart(self, node: int) -> None:
        if self._processes[node].poll() is None:
            self._stop(node)
        self._start(node)
        self._await_brokers()

    def _freeze(self, node: int) -> None:
        self._processes[node].send_signal(signal.SIGSTOP)
        self._frozen.add(node)

    def _thaw(self, node: int) -> None:
        self._processes[node].send_signal(signal.SIGCONT)
        self._frozen.discard(node)

    def _await_brokers(self) -> None:
        """Until each live broker lists each live one."""
        live = [node for node in self._ports if self._processes[node].poll() is None and node not in self._frozen]
        end_s = time.monotonic() + READY_S
        while any(self._listed_by(node) != len(live) for node in live):
            if time.monotonic() > end_s:
                raise TimeoutError(f"not every broker sees {len(live)} brokers after {READY_S} s")
            time.sleep(_LOOK_S)

    def _listed_by(self, node: int) -> int:
        with BrokerClient(Access(Address(HOST, self._ports[node]))) as client:
            try:
                return client.number_of_brokers()
            except ClusterError:
                return 0


def _directory_id(node: int) -> str:
    """An id for the data folder of a node, as Kafka writes ids."""
    return base64.urlsafe_b64encode((1 << 120 | node).to_bytes(16)).decode().rstrip("=")  # small numbers are reserved


def main(folder: str, action: str, node: str) -> int:
    """Ask a cluster; what it answers, if it is no success, goes to standard error."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(str(Path(folder) / _SOCKET))
        asking.sendall(f"{action} {node}".encode())
        why_not = asking.recv(_LINE_BYTES).decode()
    print(why_not, file=sys.stderr, end="")
    return 1 if why_not else 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
