"""Starting a broker by a command of the user, waiting for it, and ending it with everything that it started."""

import re
import shlex
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import NamedTuple

from fakebroker.client.cluster.errors import ClusterError
from fakebroker.platform.processes import end_group
from fakebroker.protocol.errors import FakebrokerError, InvalidArgument, Unavailable
from fakebroker.protocol.listeners import Address
from fakebroker.scenarios.conformance.access import Access, BrokerClient

HOST = "127.0.0.1"
START_LIMIT_S = 60
REFUSES_SETTINGS = 2  # the status of a command that cannot start a broker with the settings
_GRACE_S = 10
_POLL_S = 0.1
CONTROL_LIMIT_S = 60  # for stopping, killing, starting, freezing or thawing one broker
_PLACEHOLDER = re.compile(r"\{(port|other_port|settings|settings_file|folder|nodes|racks|action|node)(?::([^{}]*))?\}")
_LOG_TAIL = 300


class SettingsRefused(FakebrokerError):
    """The command ended with status 2: it cannot start a broker with these settings.

    `said` is the last line of its output.
    """

    def __init__(self, said: str) -> None:
        super().__init__(f"the command refuses them: {said}")
        self.said = said


class NotStarted(Unavailable):
    """The command ended, or its broker did not answer in time; the text has the end of its output."""


class Started(NamedTuple):
    """A broker that runs, or several.

    Attributes:
        access: How the first one is reached.
        control: Stops, kills, restarts, freezes or thaws one: control(operation, node_id). None if nothing can.
    """

    access: Access
    control: Callable[[str, int], None] | None = None


@dataclass(frozen=True)
class BrokerCommand:
    """A shell command that starts a broker on 127.0.0.1, or several, and runs until it is ended.

    Placeholders in `template`: {port}, of the first broker; {other_port}, another free one; {settings}, the settings as
    key=value, quoted for the shell; {settings:--config} with that option before each; {settings_file}, a properties
    file; {folder}, an empty folder; {nodes}, the number of brokers; {racks}, r1 r2 ... if they are several.
    `control_template` has the same, and {action} and {node}.
    """

    template: str
    start_limit_s: float = START_LIMIT_S
    control_template: str = ""

    def __post_init__(self) -> None:
        """Raises InvalidArgument for a command without {port}, and a control command without what it needs."""
        if "{port}" not in self.template:
            raise InvalidArgument("command", self.template, "command: {port} is missing, the port to listen on")
        for wanted, meaning in (("{action}", "what to do"), ("{node}", "the id of the broker")):
            if self.control_template and wanted not in self.control_template:
                text = f"control command: {wanted} is missing, {meaning}"
                raise InvalidArgument("control_command", self.control_template, text)

    @property
    def takes_settings(self) -> bool:
        """Whether brokers are started with the settings of the cases."""
        return "{settings" in self.template

    @property
    def takes_nodes(self) -> bool:
        """Whether it starts as many brokers as a case needs."""
        return "{nodes}" in self.template

    @contextmanager
    def running(self, settings: Mapping[str, str], nodes: int = 1, is_over: Event | None = None) -> Iterator[Started]:
        """Brokers with these settings, until the block ends. Raises SettingsRefused, NotStarted."""
        with tempfile.TemporaryDirectory(prefix="fakebroker-conformance-") as name:
            folder = Path(name)
            port, second_port, other_port = _free_ports(3)
            own = {key: _with_ports(value, port, second_port) for key, value in settings.items()}
            properties = folder / "settings.properties"
            properties.write_text("".join(f"{key}={value}\n" for key, value in own.items()), encoding="utf-8")
            (folder / "data").mkdir()
            values: dict[str, object] = {
                "port": port,
                "other_port": other_port,
                "settings": [f"{key}={value}" for key, value in own.items()],
                "settings_file": properties,
                "folder": folder / "data",
                "nodes": nodes,
                "racks": [f"r{number}" for number in range(1, nodes + 1)] if nodes > 1 else [],
            }
            log = folder / "output.log"
            with _process(_filled(self.template, values), log) as process:
                access = Access(Address(HOST, port))
                self._await(access, nodes, process, log, is_over or Event())
                yield Started(access, self._control(values, folder / "control.log") if self.control_template else None)

    def _control(self, values: Mapping[str, object], log: Path) -> Callable[[str, int], None]:
        def control(operation: str, node_id: int) -> None:
            command = _filled(self.control_template, {**values, "action": operation, "node": node_id})
            with log.open("wb") as output:
                ended = subprocess.run(
                    command, shell=True, stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=CONTROL_LIMIT_S
                )
            if ended.returncode:
                text = f"the control command ended with status {ended.returncode}: {_last_line(log)}"
                raise Unavailable(f"{operation} broker {node_id}: {text}")

        return control

    def _await(self, access: Access, nodes: int, process: "subprocess.Popen[bytes]", log: Path, is_over: Event) -> None:
        """Wait until it answers ApiVersions, and lists so many brokers."""
        end_s = time.monotonic() + self.start_limit_s
        said = ""
        while time.monotonic() < end_s and not is_over.is_set():
            status = process.poll()
            if status == REFUSES_SETTINGS:
                raise SettingsRefused(_last_line(log))
            if status:
                raise NotStarted(f"the command ended with status {status}: {_last_line(log)}")
            try:
                with BrokerClient(access) as client:
                    client.versions()
                    listed = 1 if nodes == 1 else client.number_of_brokers()
                if listed == nodes:
                    return
                said = f"it lists {listed} of {nodes} brokers"
            except ClusterError as error:
                said = str(error)
            time.sleep(_POLL_S)
        raise NotStarted(f"no broker after {self.start_limit_s:g} s ({said}): {_last_line(log)}")


def _filled(template: str, values: Mapping[str, object]) -> str:
    """A command with values, quoted for the shell, in the place of its placeholders."""

    def value(match: re.Match[str]) -> str:
        name, option = match[1], match[2]
        if name not in values:
            return match[0]
        found = values[name]
        if isinstance(found, list):
            quoted = [shlex.quote(each) for each in found]
            return " ".join(f"{option} {each}" if option else each for each in quoted)
        return shlex.quote(str(found))

    return _PLACEHOLDER.sub(value, template)


@contextmanager
def _process(command: str, log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A shell in a process group of its own, which is ended as a whole."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, shell=True, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    try:
        yield process
    finally:
        end_group(process, by_force=False)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_S)
        end_group(process, by_force=True)
        process.wait()


def _with_ports(value: str, port: int, second_port: int) -> str:
    """A recorded setting with the address of this broker; the recorded one was written HOST:PORT."""
    return value.replace("HOST:PORT+1", f"{HOST}:{second_port}").replace("HOST:PORT", f"{HOST}:{port}")


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() or ["it wrote nothing"]
    return lines[-1][-_LOG_TAIL:]
