"""Kafka's command line tools in one process that stays (tests/clients/java/Tools.java): a call takes no second.

tests/clients/console.py starts a process for each call, as users do.
"""

import base64
import re
import subprocess
import time
from pathlib import Path

from tests.clients.console import Step, steady
from tests.clients.java_programs import ROOT, java_command

SHARE_GROUPS = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
STREAMS_GROUPS = "org.apache.kafka.tools.streams.StreamsGroupCommand"
ALL_GROUPS = "org.apache.kafka.tools.GroupsCommand"
SHARE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
PATIENCE_S = 60

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


class ToolBox:
    """The tools, and what they have printed so far.

    Args:
        bootstrap: Where the broker listens.
        log: A file for what the process prints besides.
    """

    def __init__(self, bootstrap: str, log: Path) -> None:
        self.bootstrap = bootstrap
        self.printed: list[str] = []
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                java_command("Tools.java", log_level="off"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=ROOT,
            )

    def run(self, tool: str, arguments: str, text: str = "") -> None:
        """Call a tool; what it prints is part of the transcript.

        Args:
            tool: Its class.
            arguments: What it is called with, without the address of the broker.
            text: What it reads from its standard input.
        """
        self._keep(Step(tool, arguments, text), self._call(Step(tool, arguments, text)))

    def run_until(self, sign: str, tool: str, arguments: str) -> None:
        """Call a tool again and again until it prints something that matches `sign`: only that becomes a part."""
        end_s = time.monotonic() + PATIENCE_S
        step = Step(tool, arguments)
        while not re.search(sign, printed := self._call(step)):
            assert time.monotonic() < end_s, f"{sign!r} is not printed within {PATIENCE_S} s: {printed}"
            time.sleep(0.2)
        self._keep(step, printed)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def _keep(self, step: Step, printed: str) -> None:
        text = sorted_tables(without_ids(steady(printed, self.bootstrap)))
        if step.tool == SHARE_GROUPS and "--delete-offsets" in step.arguments:  # it prints the broker's own words
            text = re.sub(r"Error: .*", "Error: ...", text)
        self.printed.append(f"$ {step.tool.rsplit('.', 1)[1]} {step.arguments}\n{text}\n")

    def _call(self, step: Step) -> str:
        words = [step.tool, step.text, "--bootstrap-server", self.bootstrap, *step.arguments.split()]
        line = b",".join(base64.b64encode(word.encode()) for word in words)
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"the tools' process ended at {step}"
        return base64.b64decode(answer).decode()


def without_ids(text: str) -> str:
    """Without the ids that clients and brokers make up: of members, processes and threads."""
    text = re.sub(rf"-{UUID}-StreamThread-\d+", "-THREAD", text)
    text = re.sub(UUID, "UUID", text)
    return re.sub(r"(?<![\w.-])[\w-]{22}(?![\w.-])", "MEMBER", text)


def sorted_tables(text: str) -> str:
    """With the rows of each table in an order that does not depend on ids: those below a line of headings."""
    lines: list[str] = []
    table: list[str] = []
    for line in text.splitlines():
        if table and re.fullmatch(r"[A-Z#()\- ]+", line):  # the headings of the next table
            lines += [table[0], *sorted(table[1:])]
            table = []
        if table or line.startswith("GROUP "):
            table.append(line)
        else:
            lines.append(line)
    return "\n".join([*lines, *table[:1], *sorted(table[1:])])
