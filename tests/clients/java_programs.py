"""Java programs of the tests: our stories (tests/clients/java) and Kafka's own, as processes that a test can kill."""

import os
import shutil
import subprocess
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
JARS = ROOT / ".java" / "lib"
OLDER_JARS = ROOT / ".java" / "lib-2.8.2"  # only the client
SOURCES = Path(__file__).parent / "java"
TIMEOUT_S = 90


def needs_jars(jar: str, what: str) -> pytest.MarkDecorator:
    """Skip where there is no Java, or no jar whose name begins like that; `what` is then not tested."""
    reason = f"{what} IS NOT TESTED: needs java on the PATH and the jars that `make setup-java` fetches"
    return pytest.mark.skipif(shutil.which("java") is None or not list(JARS.glob(f"{jar}-*.jar")), reason=reason)


def java_command(program: str, log_level: str = "warn", jars: Path = JARS) -> list[str]:
    """The beginning of a command line that runs a program, to which its arguments are added.

    Args:
        program: A file of tests/clients/java, which is compiled first if it has changed, or a class of the jars.
        log_level: What the program logs at least, on its standard error: "warn", or "off" for nothing.
        jars: JARS or OLDER_JARS.
    """
    path = _class_path(jars)
    if program.endswith(".java"):
        path, program = f"{_compiled(SOURCES / program, jars)}{os.pathsep}{path}", program.removesuffix(".java")
    options = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m"]
    return ["java", *options, f"-Dorg.slf4j.simpleLogger.defaultLogLevel={log_level}", "-cp", path, program]


def _class_path(jars: Path) -> str:
    """The jars of a release; the older client brings no JSON with it."""
    more = sorted(JARS.glob("jackson-*.jar")) if jars == OLDER_JARS else []
    return os.pathsep.join([f"{jars}/*", *map(str, more)])


def _compiled(source: Path, jars: Path) -> Path:
    """The folder with the classes of a program: compiled once, because that costs more than most programs do."""
    content = zlib.crc32(source.read_bytes())
    folder = JARS.parent / "classes" / f"{source.stem}-{jars.name}-{content:08x}"
    if not folder.exists():
        folder.parent.mkdir(exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=folder.parent))
        compiler = ["javac", "-d", str(made), "-cp", _class_path(jars), str(source)]
        done = subprocess.run(compiler, capture_output=True, text=True, timeout=TIMEOUT_S)
        assert done.returncode == 0, done.stderr
        try:
            made.rename(folder)
        except OSError:  # another process of the tests was faster
            shutil.rmtree(made)
    return folder


class JavaProgram:
    """A program that runs until `end` or `kill`. What it prints goes to `log`.

    Args:
        program: A file of tests/clients/java, or the name of a class of the jars.
        arguments: What it is started with.
        log: The file for its output.
    """

    def __init__(self, program: str, arguments: list[str], log: Path) -> None:
        self.program, self.log = program, log
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [*java_command(program), *arguments], stdin=subprocess.PIPE, stdout=output, stderr=output
            )

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
