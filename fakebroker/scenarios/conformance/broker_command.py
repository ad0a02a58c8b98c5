"""Starting a broker by a command of the user, waiting for it, and ending it with everything that it started."""

import os
import re
import shlex
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from fakebroker.client.cluster.errors import ClusterError
from fakebroker.protocol.errors import FakebrokerError, InvalidArgument, Unavailable
from fakebroker.protocol.listeners import Address
from fakebroker.scenarios.conformance.access import Access, BrokerClient

HOST = "127.0.0.1"
START_LIMIT_S = 60
REFUSES_SETTINGS = 2  # the status of a command that cannot start a broker with the settings
_GRACE_S = 10
_POLL_S = 0.1
_PLACEHOLDER = re.compile(r"\{(port|settings|settings_file|folder)(?::([^{}]*))?\}")
_LOG_TAIL = 300


class SettingsRefused(FakebrokerError):
    """The command ended with status 2: it cannot start a broker with these settings."""


class NotStarted(Unavailable):
    """The command ended, or its broker did not answer in time; the text has the end of its output."""


@dataclass(frozen=True)
class BrokerCommand:
    """A shell command that starts a broker on 127.0.0.1 and runs until it is ended.

    Placeholders in `template`: {port}; {settings}, the settings as key=value, quoted for the shell; {settings:--config}
    with that option before each; {settings_file}, a properties file; {folder}, an empty folder.
    """

    template: str
    start_limit_s: float = START_LIMIT_S

    def __post_init__(self) -> None:
        """Raises InvalidArgument for a command without {port}."""
        if "{port}" not in self.template:
            raise InvalidArgument("command", self.template, "command: {port} is missing, the port to listen on")

    @property
    def takes_settings(self) -> bool:
        """Whether brokers are started with the settings of the cases."""
        return "{settings" in self.template

    @contextmanager
    def running(self, settings: Mapping[str, str], is_over: Event | None = None) -> Iterator[Access]:
        """A broker with these settings, until the block ends. Raises SettingsRefused, NotStarted."""
        with tempfile.TemporaryDirectory(prefix="fakebroker-conformance-") as name:
            folder = Path(name)
            port, other_port = _free_ports(2)
            own = {key: _with_ports(value, port, other_port) for key, value in settings.items()}
            properties = folder / "settings.properties"
            properties.write_text("".join(f"{key}={value}\n" for key, value in own.items()), encoding="utf-8")
            (folder / "data").mkdir()
            command = self._filled(port, own, properties, folder / "data")
            with _process(command, folder / "output.log") as process:
                access = Access(Address(HOST, port))
                self._await(access, process, folder / "output.log", is_over or Event())
                yield access

    def _filled(self, port: int, settings: Mapping[str, str], properties: Path, folder: Path) -> str:
        def value(match: re.Match[str]) -> str:
            name, option = match[1], match[2]
            if name == "settings":
                pairs = [shlex.quote(f"{key}={value}") for key, value in settings.items()]
                return " ".join(f"{option} {pair}" if option else pair for pair in pairs)
            return shlex.quote(str({"port": port, "settings_file": properties, "folder": folder}[name]))

        return _PLACEHOLDER.sub(value, self.template)

    def _await(self, access: Access, process: "subprocess.Popen[bytes]", log: Path, is_over: Event) -> None:
        """Wait until it answers ApiVersions."""
        end_s = time.monotonic() + self.start_limit_s
        said = ""
        while time.monotonic() < end_s and not is_over.is_set():
            status = process.poll()
            if status == REFUSES_SETTINGS:
                raise SettingsRefused(f"the command refuses them: {_last_line(log)}")
            if status:
                raise NotStarted(f"the command ended with status {status}: {_last_line(log)}")
            try:
                with BrokerClient(access) as client:
                    client.versions()
                return
            except ClusterError as error:
                said = str(error)
            time.sleep(_POLL_S)
        raise NotStarted(f"no broker after {self.start_limit_s:g} s ({said}): {_last_line(log)}")


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
        _signal(process, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_S)
        _signal(process, signal.SIGKILL)
        process.wait()


def _signal(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _with_ports(value: str, port: int, other_port: int) -> str:
    """A recorded setting with the address of this broker; the recorded one was written HOST:PORT."""
    return value.replace("HOST:PORT+1", f"{HOST}:{other_port}").replace("HOST:PORT", f"{HOST}:{port}")


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
