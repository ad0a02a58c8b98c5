"""Stages run side by side, say how they end, and never outlive the one that started them."""

import io
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools.stages import COMPILED, PLANS, ROOT, Plan, Runner, Running, Stage, environment, last_line

# A command that does what its argument says, in the place of make.
SCRIPT = """
import os, subprocess, sys, time
match sys.argv[1].split(":"):
    case ["say", *text]: print(":".join(text))
    case ["fail"]: print("this is why"); sys.exit(3)
    case ["hang", path]:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        open(path, "w").write(str(child.pid))
        time.sleep(600)
    case ["meet", mine, other]:
        open(mine, "w").close()
        while not os.path.exists(other): time.sleep(0.01)
"""


def run(*stages: Stage) -> tuple[Runner, str, bool]:
    """Run stages; the runner, what it printed and whether all went well."""
    out = io.StringIO()
    runner = Runner(stages, out, [sys.executable, "-c", SCRIPT])
    is_good = runner.run()
    return runner, out.getvalue(), is_good


def test_a_stage_that_ends_well_has_its_line_and_its_counts() -> None:
    """Of its output only pytest's line of counts is shown."""
    _, text, is_good = run(Stage("say:noise\n12 passed, 1 skipped in 3.21s"))

    assert is_good
    assert text.splitlines()[-1] == "12 passed, 1 skipped in 3.21s"
    assert "ok" in text
    assert "noise" not in text.splitlines()


def test_what_failed_the_first_time_is_shown() -> None:
    """A stage that ended well but has remarks shows its whole output."""
    _, text, is_good = run(Stage("say:E  the reason\nrest-tests: these PASS ONLY ALONE\n1 passed in 1.00s"))

    assert is_good
    assert "E  the reason" in text


def test_a_stage_that_fails_shows_why_and_stops_those_that_need_it() -> None:
    """Its output is shown; others run all the same."""
    runner, text, is_good = run(Stage("fail"), Stage("say:needs it", ("fail",)), Stage("say:fine"))

    assert not is_good
    assert {each.target: each.why for each in runner.ended} == {
        "fail": "FAILED with status 3",
        "say:needs it": "not run",
        "say:fine": "",
    }
    assert "this is why" in text


def test_stages_run_side_by_side(tmp_path: Path) -> None:
    """Two stages that wait for each other both end."""
    one, two = tmp_path / "one", tmp_path / "two"

    assert run(Stage(f"meet:{one}:{two}", limit_s=60), Stage(f"meet:{two}:{one}", limit_s=60))[2]


def test_a_stage_that_is_alone_has_nothing_beside_it(tmp_path: Path) -> None:
    """It waits for those before it, and those after it wait."""
    one, two = tmp_path / "one", tmp_path / "two"
    runner, _, _ = run(Stage(f"meet:{one}:{two}", limit_s=1), Stage(f"meet:{two}:{one}", limit_s=60, is_alone=True))

    assert [each.why for each in runner.ended] == ["ended after its limit of 1 s", ""]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for a process in /proc")
def test_a_stage_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    """Its child is gone, too."""
    path = tmp_path / "pid"
    running = Running(Stage(f"hang:{path}"), [sys.executable, "-c", SCRIPT, f"hang:{path}"])
    while not (path.exists() and path.read_text()):
        assert running.status() is None, running.text()
        time.sleep(0.01)
    running.end()
    running.close()

    ends(path.read_text())


def test_a_stage_that_takes_too_long_is_ended_and_named(tmp_path: Path) -> None:
    """Its limit is said."""
    _, text, is_good = run(Stage(f"meet:{tmp_path / 'mine'}:{tmp_path / 'other'}", limit_s=1))

    assert not is_good
    assert "ended after its limit of 1 s" in text


def ends(pid: str) -> None:
    """Wait until a process has ended that was killed; the test's limit is the longest."""
    while is_running(pid):
        time.sleep(0.01)


def is_running(pid: str) -> bool:
    """Whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for a process in /proc")
def test_an_interrupt_ends_everything(tmp_path: Path) -> None:
    """Whoever interrupts the runner ends the stages, too."""
    path = tmp_path / "pid"
    code = f"""
import sys
from tools.stages import Runner, Stage, interrupted
import signal
signal.signal(signal.SIGTERM, interrupted)
try:
    Runner([Stage("hang:{path}")], sys.stdout, [sys.executable, "-c", {SCRIPT!r}]).run()
except KeyboardInterrupt:
    sys.exit(130)
"""
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) as runner:
        while not (path.exists() and path.read_text()):
            assert runner.poll() is None
            time.sleep(0.01)
        runner.terminate()
        assert runner.wait(60) == 130
    ends(path.read_text())


def test_the_last_line_says_what_ran_what_is_left_and_what_was_skipped() -> None:
    """Reasons of skipped tests come once."""
    skipped = "SKIPPED [5] tests/a.py:23: KCAT IS NOT TESTED: there is none on the PATH"
    stages = (Stage("set-up-say:x"), Stage(f"say:{skipped}\n{skipped}\n1 passed in 1.00s"), Stage("fail"))
    runner, _, _ = run(*stages)
    line = last_line("test", Plan(stages, "the others to make rest"), runner.ended, 61.4)

    assert line.startswith("make test: FAILED: ")
    assert "fail" in line
    assert "in 61 s | left: the others to make rest" in line
    assert line.rpartition("| skipped: ")[2] == "KCAT IS NOT TESTED: there is none on the PATH"


def test_every_stage_is_a_target_and_needs_one_of_its_plan() -> None:
    """A plan cannot name what make does not know."""
    targets = {line.split(":")[0] for line in (ROOT / "Makefile").read_text().splitlines() if line[:1].islower()}
    for plan in PLANS.values():
        names = {stage.target for stage in plan.stages}

        assert names <= targets
        assert {need for stage in plan.stages for need in stage.needs} <= names


def test_python_keeps_what_it_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the environment forbids files beside the modules, they are kept below .venv; elsewhere nothing changes."""
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    assert "PYTHONPYCACHEPREFIX" not in environment()

    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    found = environment()
    assert "PYTHONDONTWRITEBYTECODE" not in found
    assert found["PYTHONPYCACHEPREFIX"] == str(COMPILED)
