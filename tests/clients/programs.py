"""Clients of other languages: processes that learn what to do line by line.

A line in is a JSON object. `client` is a number; the first line for a client has its `login` (logins.py). `do` is one
of

    send, read          one record of `topic`, the reader as a member of `group`
    produce             `records` to `topic`, compressed by `codec`
    transaction         `records` in a transaction of `transactional_id`, which ends by `commit` or not
    offsets             of `topic` with `partitions`, by `timestamp_ms`
    subscribe           to `topic`, as a member of `group` with `settings` by their Kafka names
    poll, commit        of what was subscribed
    close

A line out has `outcome`, "" or the name of the error, and what was asked for: `records` or `offsets`. A record has
`partition`, `key`, `value`, `headers` and `timestamp_ms`; what is null in `offsets` was not found.

The programs for logins do the first two; sarama and rdkafka have one program for everything.
"""

import itertools
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.clients.java_programs import JARS, OLDER_JARS, ROOT, java_command
from tests.clients.logins import Login

CLIENTS = Path(__file__).parent
GO_MODULES = ROOT / ".go"
GO_SOURCES = CLIENTS / "go"
NODE_SOURCES = CLIENTS / "node"
RUST_BUILD = ROOT / ".rust"
OFFLINE = {"GOMODCACHE": str(GO_MODULES / "modules"), "GOPROXY": "off", "GOTOOLCHAIN": "local"}
BUILD_S = 120


class Language(NamedTuple):
    """What runs the programs of a client library.

    Attributes:
        library: How the library is called.
        marker: The marker of its tests.
        program: What must be on the PATH.
        installed: A file that is there when its target has run.
        target: The target of the Makefile that installs the library.
        is_long: Whether only `make long` and `make client-table` run its tests: at each change one library of the
            language is enough.
    """

    library: str
    marker: str
    program: str
    installed: Path
    target: str
    is_long: bool = False

    @property
    def marks(self) -> list[pytest.MarkDecorator]:
        """The marks of its tests: skipped, with what is missing, where it is not installed."""
        is_there = shutil.which(self.program) is not None and self.installed.exists()
        needs = f"needs {self.program} on the PATH and what `make {self.target}` installs"
        reason = f"{self.library.upper()} IS NOT TESTED: {needs}"
        often = [pytest.mark.long] if self.is_long else []
        return [getattr(pytest.mark, self.marker), *often, pytest.mark.skipif(not is_there, reason=reason)]


_GO = ("go", "go", GO_MODULES / "complete", "setup-go")
LANGUAGES = {
    "java": Language("the Java client", "java", "java", JARS, "setup-java"),
    "java-2.8": Language("the Java client of 2.8", "java", "java", OLDER_JARS, "setup-java", is_long=True),
    "franz-go": Language("franz-go", *_GO),
    "sarama": Language("sarama", *_GO, is_long=True),
    "kafkajs": Language("kafkajs", "node", "node", NODE_SOURCES / "node_modules" / "kafkajs", "setup-node"),
    "rdkafka": Language("rdkafka", "rust", "cargo", RUST_BUILD / "complete", "setup-rust", is_long=True),
}


def login_command(library: str) -> list[str]:
    """The command line of the program for logins of a library."""
    match library:
        case "java" | "java-2.8":
            return java_command("Logins.java", log_level="off", jars=_jars(library))
        case "kafkajs":
            return ["node", str(NODE_SOURCES / "logins.js")]
        case "franz-go":
            return go_command("logins")
    return library_command(library)


def library_command(library: str) -> list[str]:
    """The command line of the program for everything else."""
    match library:
        case "java" | "java-2.8":
            return java_command("Library.java", jars=_jars(library))
        case "kafkajs":
            return ["node", str(NODE_SOURCES / "library.js")]
        case "franz-go":
            return go_command("library")
        case "sarama":
            return go_command("sarama")
        case "rdkafka":
            return [str(RUST_BUILD / "target" / "debug" / "rdkafka")]
    raise KeyError(library)


def _jars(library: str) -> Path:
    return OLDER_JARS if library == "java-2.8" else JARS


def go_command(name: str) -> list[str]:
    """The command line of a program of tests/clients/go, which is compiled first."""
    program = GO_MODULES / name
    build = ["go", "build", "-o", str(program), f"./{name}"]  # does next to nothing the second time
    subprocess.run(build, cwd=GO_SOURCES, env={**os.environ, **OFFLINE}, check=True, timeout=BUILD_S)
    return [str(program)]


class Program:
    """A process with any number of clients.

    Args:
        command: Its command line.
        log: A file for what the process prints besides.
    """

    def __init__(self, command: list[str], log: Path) -> None:
        self._numbers = itertools.count(1)
        self._log = log
        with log.open("wb") as errors:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)

    def client(self, login: Login) -> "ProgramClient":
        """A client that will log in."""
        return ProgramClient(self, next(self._numbers), login)

    def tell(self, order: dict[str, Any]) -> dict[str, Any]:
        """The answer to an order."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"the program ended at {str(order)[:1000]}:\n{self.logged}"
        answer: dict[str, Any] = json.loads(line)
        return answer

    @property
    def logged(self) -> str:
        """The end of what it printed besides."""
        return self._log.read_text(errors="replace")[-4000:]

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


class ProgramClient:
    """One client of a program; see tests.clients.logins.Client."""

    def __init__(self, program: Program, number: int, login: Login) -> None:
        self._program, self._number = program, number
        self._login: dict[str, Any] | None = login._asdict()  # is sent once

    def send(self, topic: str) -> str:
        return str(self.tell(do="send", topic=topic)["outcome"])

    def read(self, topic: str, group: str) -> str:
        return str(self.tell(do="read", topic=topic, group=group)["outcome"])

    def close(self) -> None:
        self.tell(do="close")

    def tell(self, **order: Any) -> dict[str, Any]:
        """The answer to an order."""
        login, self._login = self._login, None
        return self._program.tell({"client": self._number, **order, **({"login": login} if login else {})})
