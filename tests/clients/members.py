"""Group members of real clients in processes of their own, which do what a test tells them and can be killed.

    cast = Cast(bootstrap, "java", tmp_path)
    stage = cast.stage()
    ann = stage.start("consumer", topics="orders", **{"group.id": "billing", "group.protocol": "consumer"})
    cast.wait("ann has both", lambda: ann.assigned == {"orders-0", "orders-1"})
    stage.kill()

The programs are tests/clients/java/Members.java, which says what goes through their standard streams,
tests/clients/confluent_members.py and tests/clients/go/members.
"""

import itertools
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.clients import programs
from tests.clients.java_programs import ROOT, java_command

TIMEOUT_S = 120
LANGUAGES = [
    pytest.param("java", marks=programs.LANGUAGES["java"].marks),
    pytest.param("confluent-kafka"),
    pytest.param("franz-go", marks=programs.LANGUAGES["franz-go"].marks),
]


class Read(NamedTuple):
    """A record that a member has read; consumers that do not share count no deliveries (0)."""

    partition: str
    offset: int
    delivery_count: int
    value: str


class Member:
    """One member, as far as its process has reported.

    Attributes:
        assigned: What is assigned to it now, as "orders-0"; None before its first assignment.
        assignments: How often its assignment has changed.
        read: What it has read.
        acknowledged: How many records it has acknowledged with success.
        refused: The errors of acknowledgements.
        has_stopped: Whether it has left.
    """

    def __init__(self, stage: "Stage", name: str) -> None:
        self._stage, self.name = stage, name
        self.assigned: set[str] | None = None
        self.assignments = 0
        self.read: list[Read] = []
        self.acknowledged = 0
        self.refused: list[str] = []
        self.failure = ""
        self.has_stopped = False

    def stop(self) -> None:
        """Leave the group in an orderly way; return when it has."""
        self._stage.tell(f"stop {self.name}")
        self._stage.cast.wait(f"{self.name} stops", lambda: self.has_stopped)

    def acknowledge(self, kind: str, count: int) -> None:
        """Answer the oldest `count` records that it holds: "ACCEPT", "RELEASE", "REJECT" or "RENEW".

        Returns when the broker has answered. AssertionError if it refused.
        """
        answered = self.acknowledged + len(self.refused)
        self._stage.tell(f"acknowledge {self.name} {kind} {count}")
        self._stage.cast.wait(
            f"{self.name}'s {kind} is answered", lambda: self.acknowledged + len(self.refused) > answered
        )

    @property
    def values(self) -> list[str]:
        """The values it has read, in their order."""
        return [each.value for each in self.read]

    def heard(self, event: str, text: str) -> None:
        """Take in what its process has reported."""
        match event:
            case "assigned":
                self.assigned = set(text.split())
                self.assignments += 1
            case "read":
                partition, offset, delivery_count, value = text.split(" ", 3)
                self.read.append(Read(partition, int(offset), int(delivery_count), value))
            case "acknowledged":
                self.acknowledged += int(text)
            case "refused":
                self.refused.append(text)
            case "failed":
                self.failure = text or "it failed"
            case "stopped":
                self.has_stopped = True


class Stage:
    """A process with any number of members."""

    def __init__(self, cast: "Cast", command: list[str], log: Path) -> None:
        self.cast, self.log = cast, log
        self.members: dict[str, Member] = {}
        self.is_killed = False
        with log.open("wb") as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, cwd=ROOT
            )
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def start(self, kind: str, **settings: object) -> Member:
        """Start a member.

        Args:
            kind: "consumer" or "share".
            settings: `topics` (names with commas between) or `pattern`; all others are settings of the Java client.
        """
        name = f"m{next(self.cast.numbers)}"
        member = self.members[name] = Member(self, name)
        words = [f"{key}={value}" for key, value in {"client.id": name, **settings}.items()]
        self.tell(" ".join(["start", name, kind, *words]))
        return member

    def tell(self, command: str) -> None:
        """Send a command."""
        assert self.process.stdin
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        """End it as a crash does: its members say nothing to anybody."""
        self.is_killed = True
        self.process.kill()
        self.process.wait(60)
        self._thread.join(60)
        assert self.process.stdin
        self.process.stdin.close()

    def _listen(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            name, event, *text = line.decode(errors="replace").rstrip("\n").split(" ", 2)
            with self.cast.news:
                if name in self.members:
                    self.members[name].heard(event, "".join(text))
                self.cast.news.notify_all()
        self.process.stdout.close()


class Cast:
    """All processes of a test, with one client.

    Args:
        bootstrap: Where the broker listens.
        language: "java", "confluent-kafka" or "franz-go".
        folder: For what the processes print besides their events.
    """

    def __init__(self, bootstrap: str, language: str, folder: Path) -> None:
        self.bootstrap, self.language, self.folder = bootstrap, language, folder
        self.stages: list[Stage] = []
        self.news = threading.Condition()
        self.numbers = itertools.count(1)

    def stage(self) -> Stage:
        """Start a process."""
        log = self.folder / f"stage-{len(self.stages)}.log"
        self.stages.append(Stage(self, [*self._command(), self.bootstrap], log))
        return self.stages[-1]

    def _command(self) -> list[str]:
        if self.language == "java":
            return java_command("Members.java")
        if self.language == "confluent-kafka":
            return [sys.executable, "-m", "tests.clients.confluent_members"]
        return programs.go_command("members")

    def wait(self, what: str, condition: Callable[[], bool], timeout_s: float = TIMEOUT_S) -> None:
        """Until the condition holds. AssertionError if it never does, or a member fails."""
        end_s = time.monotonic() + timeout_s
        with self.news:
            while not condition():
                self._assert_nobody_failed(what)
                assert time.monotonic() < end_s, f"not within {timeout_s} s: {what}\n{self.report()}"
                self.news.wait(0.2)

    def _assert_nobody_failed(self, what: str) -> None:
        for stage in self.stages:
            assert stage.is_killed or stage.process.poll() is None, f"a process ended, before {what}:\n{self.report()}"
            for member in stage.members.values():
                assert not member.failure, f"{member.name}, before {what}: {member.failure}\n{self.report()}"

    def report(self) -> str:
        """What members have reported so far, and what their processes print."""
        lines = []
        for stage in self.stages:
            for each in stage.members.values():
                read = Counter(record.partition for record in each.read)
                lines.append(f"{each.name}: assigned {each.assigned}, read {dict(read)}, refused {each.refused}")
            lines.append(stage.log.read_text(errors="replace")[-3000:])
        return "\n".join(lines)

    def close(self) -> None:
        """Kill all processes that still run."""
        for stage in self.stages:
            if not stage.is_killed:
                stage.kill()
