"""The stages of `make quick`, `make test` and `make rest`, side by side:  python -m tools.stages test

A stage is a target of the Makefile. It starts as soon as those that it needs have ended well; a stage that measures, or
whose tests need both cores, runs alone. The line of a stage comes when it ends, the output of one that failed below it.
A stage that takes longer than its limit is ended, with all its processes, and so are all of them at Ctrl-C.

The last line says what ran, what is left to which target, and what was not tested for want of a toolchain.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TextIO

ROOT = Path(__file__).resolve().parent.parent
LOOK_S = 0.1  # how often ends are looked for
COMPILED = ROOT / ".venv/compiled"  # where Python keeps compiled modules if the environment forbids it beside them
STILL_S = 30  # how often it says what still runs, where nobody looks at a terminal
GRACE_S = 5  # between being asked to end and being killed


class Stage(NamedTuple):
    """A target of the Makefile; `needs` names stages of the same plan."""

    target: str
    needs: tuple[str, ...] = ()
    limit_s: int = 600
    is_alone: bool = False


class Plan(NamedTuple):
    """What a target runs, and what it leaves to others."""

    stages: tuple[Stage, ...]
    left: str


PLANS = {
    "quick": Plan((Stage("lint"), Stage("quick-tests")), "the others to make test"),
    "test": Plan(
        (
            Stage("lint"),
            Stage("set-up-test"),
            Stage("types", ("set-up-test",)),
            Stage("collect", ("set-up-test",)),
            Stage("tests", ("collect",), 1200),
        ),
        "Spark, browsers, more of clients, real Kafkas, chance to make rest; hours of it to make long, fuzz, model",
    ),
    "rest": Plan(
        (
            Stage("set-up-rest"),
            Stage("site", ("set-up-rest",)),
            Stage("workflows", ("set-up-rest",)),
            Stage("rest-tests", ("set-up-rest",), 1800, is_alone=True),
            Stage("rest-page", ("set-up-rest",), is_alone=True),
            Stage("alone", ("rest-tests",), is_alone=True),
            Stage("rest-spark-tests", ("set-up-rest",), 1800, is_alone=True),
            Stage("instructions", ("set-up-rest",), 900),
            Stage("random", ("set-up-rest",), 1500),
        ),
        "hours of it to make long, fuzz, model",
    ),
}


def environment() -> dict[str, str]:
    """The environment of a stage: Python keeps what it compiles; hundreds of processes import it."""
    found = dict(os.environ)
    if found.pop("PYTHONDONTWRITEBYTECODE", ""):
        found.setdefault("PYTHONPYCACHEPREFIX", str(COMPILED))
    return found


class Running:
    """A stage that was started, in a process group of its own."""

    def __init__(self, stage: Stage, command: list[str]) -> None:
        self.stage = stage
        self.started = time.monotonic()
        self._output = tempfile.TemporaryFile("w+b")  # noqa: SIM115 - until close()
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=self._output, stderr=subprocess.STDOUT,
            start_new_session=True, env=environment(),
        )  # fmt: skip

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    def status(self) -> int | None:
        """The status with which it has ended."""
        return self._process.poll()

    def text(self) -> str:
        """What it has written up to now."""
        size = os.fstat(self._output.fileno()).st_size
        return os.pread(self._output.fileno(), size, 0).decode(errors="replace")

    def progress(self) -> str:
        """ "tests 42 %" where pytest says it, else the name."""
        percents = re.findall(r"\[ *(\d+)%\]", self.text())
        return f"{self.stage.target} {percents[-1]} %" if percents else self.stage.target

    def end(self) -> None:
        """End it and every process that it started."""
        self._signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_S)
        self._signal(signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """Forget its output."""
        self._output.close()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


class Ended(NamedTuple):
    """How a stage has ended; `why` is empty if well."""

    target: str
    seconds: float
    why: str
    text: str

    @property
    def summary(self) -> str:
        """pytest's line of counts."""
        found = re.findall(r"^=* ?(\d+ .*(?:passed|failed|error).* in [\d.]+s.*?)=*$", self.text, re.M)
        return str(found[-1]).strip() if found else ""

    @property
    def has_remarks(self) -> bool:
        """Whether a stage that ended well had something to say: tests that failed the first time."""
        return re.search(r"^(?:rest-tests|random): ", self.text, re.M) is not None

    @property
    def untested(self) -> list[str]:
        """What was not tested for want of something, by the reasons of the tests that were skipped."""
        return re.findall(r"^SKIPPED .*?: (.* IS NOT TESTED: .*|.* IS READ: .*)$", self.text, re.M)


class Runner:
    """Runs the stages of a plan; `command` makes the command of a target."""

    def __init__(self, stages: Iterable[Stage], out: TextIO, command: list[str]) -> None:
        self._waiting = list(stages)
        self._running: list[Running] = []
        self.ended: list[Ended] = []
        self._out, self._command = out, command
        self._shown, self._said_at = "", time.monotonic()

    def run(self) -> bool:
        """Run all stages; whether all of them ended well. Stages that need a failed one do not run."""
        try:
            while self._waiting or self._running:
                self._drop()
                self._start()
                self._show()
                time.sleep(LOOK_S)
                self._collect()
        finally:
            for each in self._running:
                each.end()
                each.close()
        return not any(each.why for each in self.ended)

    def _drop(self) -> None:
        """Give up stages that need one which failed."""
        failed = {each.target for each in self.ended if each.why}
        for stage in [each for each in self._waiting if failed & set(each.needs)]:
            self._waiting.remove(stage)
            self._tell(Ended(stage.target, 0, "not run", ""))

    def _start(self) -> None:
        """Start what need not wait, in order."""
        done = {each.target for each in self.ended}
        for stage in list(self._waiting):
            is_held = any(each.stage.is_alone for each in self._running) or (stage.is_alone and self._running)
            if set(stage.needs) <= done and not is_held:
                self._waiting.remove(stage)
                self._running.append(Running(stage, [*self._command, stage.target]))

    def _collect(self) -> None:
        """Take what has ended, and end what takes too long."""
        for each in list(self._running):
            status, why = each.status(), ""
            if status is None and each.seconds < each.stage.limit_s:
                continue
            if status is None:
                each.end()
                why = f"ended after its limit of {each.stage.limit_s} s"
            elif status:
                why = f"FAILED with status {status}"
            self._running.remove(each)
            self._tell(Ended(each.stage.target, each.seconds, why, each.text()))
            each.close()

    def _tell(self, ended: Ended) -> None:
        """The line of a stage that has ended, what pytest counted, and everything if it failed or has remarks."""
        self.ended.append(ended)
        self._clear()
        print(f"{ended.target:20} {ended.seconds:5.0f} s  {ended.why or 'ok'}", file=self._out)
        if ended.why or ended.has_remarks:
            print(ended.text.rstrip() or "(no output)", file=self._out)
        elif ended.summary:
            print(ended.summary, file=self._out)
        self._out.flush()

    def _show(self) -> None:
        """What runs: on a terminal in its last line, elsewhere every half a minute."""
        is_terminal = self._out.isatty()
        if not is_terminal and time.monotonic() < self._said_at + STILL_S:
            return
        text = "  running: " + ", ".join(f"{each.progress()} ({each.seconds:.0f} s)" for each in self._running)
        self._said_at = time.monotonic()
        if not is_terminal:
            print(text, file=self._out, flush=True)
        elif text != self._shown:
            self._clear()
            self._shown = text[: os.get_terminal_size(self._out.fileno()).columns - 1]
            print(self._shown, end="", file=self._out, flush=True)

    def _clear(self) -> None:
        if self._shown:
            print("\r\033[K", end="", file=self._out)
            self._shown = ""


def last_line(name: str, plan: Plan, ended: list[Ended], seconds: float) -> str:
    """What ran, what was left to which target, what could not be tested."""
    bad = [each.target for each in ended if each.why]
    ran = [each.target for each in ended if not each.why and not each.target.startswith("set-up")]
    untested = sorted({reason for each in ended for reason in each.untested})
    failed = f"FAILED: {', '.join(bad)}; " if bad else ""
    what = f"make {name}: {failed}ran {', '.join(ran) or 'nothing'} in {seconds:.0f} s"
    return f"{what} | left: {plan.left} | skipped: {'; '.join(untested) or 'nothing'}"


def interrupted(number: int, _: object) -> None:
    """End as at Ctrl-C when asked to by a signal."""
    raise KeyboardInterrupt


def main() -> int:
    """Run a plan; the exit status is 1 if a stage failed, 130 if it was interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tools.stages")
    parser.add_argument("plan", choices=PLANS)
    name = parser.parse_args().plan
    signal.signal(signal.SIGTERM, interrupted)
    started = time.monotonic()
    runner = Runner(PLANS[name].stages, sys.stdout, ["make", "--no-print-directory"])
    try:
        is_good = runner.run()
    except KeyboardInterrupt:
        print("\ninterrupted: every stage was ended", file=sys.stderr)
        return 130
    print(last_line(name, PLANS[name], runner.ended, time.monotonic() - started))
    return 0 if is_good else 1


if __name__ == "__main__":
    raise SystemExit(main())
