"""Java programs of the tests: our stories (tests/clients/java) and Kafka's own, as processes that a test can kill."""

import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
JARS = ROOT / ".java" / "lib"
SOURCES = Path(__file__).parent / "java"
TIMEOUT_S = 90


def needs_jars(jar: str, what: str) -> pytest.MarkDecorator:
    """Skip where there is no Java, or no jar whose name begins like that; `what` is then not tested."""
    reason = f"{what} IS NOT TESTED: needs java on the PATH and the jars that `make setup-java` fetches"
    return pytest.mark.skipif(shutil.which("java") is None or not list(JARS.glob(f"{jar}-*.jar")), reason=reason)


class JavaProgram:
    """A program that runs until `end` or `kill`. What it prints goes to `log`.

    Args:
        program: A file of tests/clients/java, or the name of a class of the jars.
        arguments: What it is started with.
        log: The file for its output.
    """

    def __init__(self, program: str, arguments: list[str], log: Path) -> None:
        self.program, self.log = program, log
        name = str(SOURCES / program) if program.endswith(".java") else program
        command = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m"]
        command += ["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", f"{JARS}/*", name, *arguments]
        with log.open("wb") as output:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=output)

    @property
    def printed(self) -> str:
        """What it has printed so far."""
        return self.log.read_text(errors="replace")

    def wait(self, what: str, condition: Callable[[], bool], timeout_s: float = TIMEOUT_S) -> None:
        """Until the condition holds. AssertionError with what was printed if it never does, or the program ends."""
        end_s = time.monotonic() + timeout_s
        while not condition():
            assert self.process.poll() is None, f"{self.program} ended, before {what}:\n{self.printed[-6000:]}"
            assert time.monotonic() < end_s, f"{self.program}: not within {timeout_s} s: {what}\n{self.printed[-6000:]}"
            time.sleep(0.05)

    def kill(self) -> None:
        """End it as a crash does: it says nothing to anybody."""
        self.process.kill()
        self._ended()

    def end(self) -> None:
        """Close its standard input, and wait until it has ended by itself."""
        assert self.process.stdin
        self.process.stdin.close()
        self._ended()

    def _ended(self) -> None:
        assert self.process.stdin
        self.process.wait(60)
        self.process.stdin.close()
