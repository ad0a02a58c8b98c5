"""Clients of other languages that log in: a process for each language, which learns what to do line by line.

A line in is a JSON object: `client` is a number, `do` is "send", "read" or "close", `topic` and `group` say of what;
the first line for a client has its `login`. A line out is {"outcome": ""}, or the name of the error.
"""

import itertools
import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.clients.java_programs import java_command
from tests.clients.logins import Login
from tests.clients.members import GO_MODULES, GO_SOURCES, OFFLINE, TIMEOUT_S

NODE_SOURCES = Path(__file__).parent / "node"


def login_command(language: str) -> list[str]:
    """The command line of a program: "java", "node" or "go"."""
    if language == "java":
        return java_command("Logins.java", log_level="off")
    if language == "node":
        return ["node", str(NODE_SOURCES / "logins.js")]
    program = GO_MODULES / "logins"
    build = ["go", "build", "-o", str(program), "./logins"]  # does next to nothing the second time
    subprocess.run(build, cwd=GO_SOURCES, env={**os.environ, **OFFLINE}, check=True, timeout=TIMEOUT_S)
    return [str(program)]


class LoginProgram:
    """The process of one language, with any number of clients.

    Args:
        language: "java", "node" or "go".
        log: A file for what the process prints besides.
    """

    def __init__(self, language: str, log: Path) -> None:
        self._numbers = itertools.count(1)
        self._log = log
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                login_command(language), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
            )

    def client(self, login: Login) -> "ProgramClient":
        """A client that will log in."""
        return ProgramClient(self, next(self._numbers), login)

    def tell(self, order: dict[str, Any]) -> str:
        """The outcome of an order."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"the program ended at {order}:\n{self._log.read_text(errors='replace')[-4000:]}"
        return str(json.loads(line)["outcome"])

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


class ProgramClient:
    """One client of a program; see tests.clients.logins.Client."""

    def __init__(self, program: LoginProgram, number: int, login: Login) -> None:
        self._program, self._number = program, number
        self._login: dict[str, Any] | None = login._asdict()  # is sent once

    def send(self, topic: str) -> str:
        return self._tell(do="send", topic=topic)

    def read(self, topic: str, group: str) -> str:
        return self._tell(do="read", topic=topic, group=group)

    def close(self) -> None:
        self._tell(do="close")

    def _tell(self, **order: str) -> str:
        login, self._login = self._login, None
        return self._program.tell({"client": self._number, **order, **({"login": login} if login else {})})
