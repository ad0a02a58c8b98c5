"""Pages that a reader follows step by step: their files are written, their commands run, in the order of the page.

Of a page these fenced blocks count:

- `python` and `yaml` that begin with a comment such as `# worker.py`: the file of that name.
- `sh`: commands, one a line. Those that serve or consume run on until they are stopped; the others must end with
  status 0.
- `text` after a block of commands: lines of their output; `...` stands for anything. They are waited for.

Ports of the page become free ones, and `pip install` and `python3 -m venv` are not run.
"""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

from tests.support.eventually import eventually

ROOT = Path(__file__).resolve().parents[2]
PORTS = ("9092", "8092", "19092")
RUN_ON = ("fakebroker serve", "fakebroker record", "python worker.py")
NOT_RUN = ("pip install", "python3 -m venv", "docker ")
TIMEOUT_S = 120


class Block(NamedTuple):
    """A fenced block of a page."""

    kind: str
    text: str


class Walkthrough:
    """A reader in a folder of their own. Used in a `with`, at whose end everything that runs is stopped."""

    def __init__(self, page: str, folder: Path) -> None:
        self.page = page
        self.folder = folder
        self._ports = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
        self._running: list[subprocess.Popen[bytes]] = []
        (folder / "recordings").symlink_to(ROOT / "recordings")

    def __enter__(self) -> "Walkthrough":
        return self

    def __exit__(self, *_: object) -> None:
        while self._running:
            self.interrupt()

    def port(self, port: str) -> str:
        """The port that stands for one of the page."""
        return self._ports[port]

    def follow(self, first: int = 0, last: int | None = None) -> None:
        """Do what the page says, from its block number `first` up to and without number `last`; else to its end."""
        shown: list[Path] = []
        for block in blocks(self.page)[first:last]:
            text = self._with_free_ports(block.text)
            if name := re.match(r"# (\S+\.(?:py|yaml))\n", text):
                (self.folder / name[1]).write_text(text)
            elif block.kind == "sh":
                shown = [self.run(line) for line in text.splitlines() if not line.startswith(NOT_RUN)]
            elif block.kind == "text":
                self._expect(shown, block.text.splitlines())

    def run(self, command: str) -> Path:
        """Run a line of the page. Returns the file with what it wrote."""
        output = self.folder / f"output-{len(list(self.folder.glob('output-*')))}"
        with output.open("wb") as file:
            process = subprocess.Popen(
                shlex.split(command), cwd=self.folder, env=self._environment(), stdout=file, stderr=subprocess.STDOUT
            )
        if command.startswith(RUN_ON):
            self._running.append(process)
            self._wait_for_listeners(command, process, output)
            return output
        try:
            status = process.wait(TIMEOUT_S)
        finally:
            process.kill()
            process.wait()
        assert status == 0, f"{command}: status {status}\n{output.read_text()}"
        return output

    def interrupt(self) -> None:
        """Ctrl-C for the last of those that run on."""
        process = self._running.pop()
        process.send_signal(signal.SIGINT)
        process.wait(TIMEOUT_S)

    def _wait_for_listeners(self, command: str, process: subprocess.Popen[bytes], output: Path) -> None:
        ports = re.findall(r"--(?:listen|control) (?:\S+:)?([1-9]\d*)(?!\S)", command)
        eventually(lambda: process.poll() is not None or all(map(answers, ports)), TIMEOUT_S)
        assert process.poll() is None, output.read_text()

    def _expect(self, outputs: list[Path], lines: list[str]) -> None:
        """Wait until each line is in what commands wrote."""
        patterns = {line: re.escape(line).replace(re.escape("..."), ".*") for line in lines}
        missing = list(patterns)

        def is_there() -> bool:
            written = "\n".join(path.read_text() for path in outputs)
            missing[:] = [line for line, pattern in patterns.items() if not re.search(f"^{pattern}$", written, re.M)]
            return not missing

        with suppress(AssertionError):
            eventually(is_there, TIMEOUT_S)
        assert missing == [], "\n".join(path.read_text() for path in outputs)

    def _with_free_ports(self, text: str) -> str:
        return re.sub(rf"\b(?:{'|'.join(PORTS)})\b", lambda match: self._ports[match[0]], text)

    def _environment(self) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        control = f"http://127.0.0.1:{self._ports['8092']}"
        return {**os.environ, "PATH": path, "FAKEBROKER_CONTROL_URL": control, "PYTHONUNBUFFERED": "1"}


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page of docs, in order."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / "docs" / page).read_text(), re.S | re.M)
    return [Block(kind, text) for kind, text in found]


def answers(port: str) -> bool:
    """Whether something listens on a port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", int(port))) == 0


def free_ports(count: int) -> list[str]:
    """Ports that nothing listens on now."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [str(each.getsockname()[1]) for each in sockets]
