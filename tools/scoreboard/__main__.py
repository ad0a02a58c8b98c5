"""Judge every broker of the scoreboard, and write docs/reference/scoreboard.md:  python -m tools.scoreboard [NAME ...]

With names only those brokers are judged again; the others keep their results of the last run (results/NAME.json). A
broker that cannot be started here, for want of Java or Go, is "not run". Every case of the last run is in .scoreboard.
`--page` writes the page from the results alone, `--plays` only its section "Differential play", from what
`python -m tools.differential --keep` has kept. `--again` plays the cases of the last run again that were not run or
differ, `--chapter=cluster` those of a chapter; the others keep their verdicts. Every run ends as with `--again`, if the
cases are few: on two cores some ten Kafkas and hundreds of clients are late at times.
"""

import datetime
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from fakebroker.scenarios.conformance.verdicts import Verdict
from tools.scoreboard.page import PAGE, page, unexplained, with_plays
from tools.scoreboard.targets import FOLDER, ROOT, TARGETS, TARGETS_3_9, Target

AT_A_TIME = 2  # brokers are judged by waiting, most of the time
LIMIT_S = 900
START_LIMIT_S = 180  # of a cluster of four JVMs on a busy machine
FEW = 12  # cases that are played again; more of them are no matter of a busy machine
_OPEN = (Verdict.DIFFERS.value, Verdict.NOT_RUN.value)
_ENDED_WELL = (0, 1, 3)
Result = dict[str, Any]


def main(arguments: list[str]) -> int:
    """Run, write the page, and say what of ours is not explained."""
    every = (*TARGETS, *TARGETS_3_9)
    names = [each for each in arguments if not each.startswith("--")]
    unknown = [name for name in names if name not in {target.name for target in every}]
    if unknown:
        known = ", ".join(target.name for target in every)
        print(f"scoreboard: no broker {', '.join(unknown)}; there are {known}", file=sys.stderr)
        return 2
    if "--plays" in arguments:
        PAGE.write_text(with_plays(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        return 0
    FOLDER.mkdir(exist_ok=True)
    if "--page" not in arguments:
        chapters = [each.partition("=")[2] for each in arguments if each.startswith("--chapter=")]
        judge = partial(_judge_chapters, chapters) if chapters else _judge_again if "--again" in arguments else _judge
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            for line in pool.map(judge, [target for target in every if not names or target.name in names]):
                print(line, flush=True)
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    missing = unexplained()
    for name in missing:
        print(f"scoreboard: {name} differs, and tools/scoreboard/explained.json does not say why", file=sys.stderr)
    return 1 if missing else 0


def _judge(target: Target) -> str:
    """Judge one broker and keep the result; a line that says how it went."""
    if why := target.why_not():
        return _not_run(target, why)
    began_s = time.monotonic()
    found = _played(target, target.played, ["--side-by-side", str(target.side_by_side)])
    if found is None:
        return _not_run(target, f"the command failed, see {target.played.with_suffix('.txt')}")
    _keep(target, found)
    _judge_again(target)
    return f"{target.title}: {json.loads(target.result.read_text())['total']} in {time.monotonic() - began_s:.0f} s"


def _judge_again(target: Target) -> str:
    """Play again what was not run or differs, if that is little, two at a time; the later result counts."""
    found: Result = json.loads(target.played.read_text())
    names = [case["name"] for case in found.get("cases", ()) if case["verdict"] in _OPEN]
    if not names or len(names) > FEW:
        return f"{target.title}: {len(names)} cases differ or were not run; none is played again"
    options = ["--side-by-side", "2", *(word for name in names for word in ("--only", name))]
    return _merge(target, found, options)


def _judge_chapters(chapters: list[str], target: Target) -> str:
    """Play chapters again; all other cases keep the verdicts of the last run."""
    if why := target.why_not():
        return f"{target.title}: not run: {why}"
    found: Result = json.loads(target.played.read_text())
    options = ["--side-by-side", str(target.side_by_side), *(f"--chapter={each}" for each in chapters)]
    return _merge(target, found, options)


def _merge(target: Target, found: Result, options: list[str]) -> str:
    """Play some cases; their verdicts take the place of those in an earlier result."""
    again = _played(target, target.played.with_suffix(".again.json"), options)
    if again is None:
        return f"{target.title}: the command failed, see {target.played.with_suffix('.again.txt')}"
    later = {case["name"]: case for case in again["cases"]}
    cases = [later.get(case["name"], case) for case in found["cases"]]
    _keep(target, {**found, **counted(cases), "cases": cases})
    return f"{target.title}: {len(later)} cases were played again: {again['total']}"


def counted(cases: Iterable[Result]) -> Result:
    """The counts of cases by verdict, of all and by chapter, as the command writes them."""
    chapters: dict[str, Counter[str]] = {}
    for case in cases:
        chapters.setdefault(case["chapter"], Counter())[case["verdict"]] += 1
    return {
        "total": dict(sum(chapters.values(), Counter())),
        "chapters": {name: dict(n) for name, n in chapters.items()},
    }


def _played(target: Target, result: Path, options: list[str]) -> Result | None:
    """Run the command; its JSON, None if it failed."""
    command = [sys.executable, "-m", "fakebroker", "conformance", "--command", target.command]
    if target.control_command:
        command += ["--control-command", target.control_command]
    command += ["--release", target.release, "--json", str(result), "--time-limit", str(LIMIT_S)]
    command += ["--start-limit", str(START_LIMIT_S), *options]
    result.unlink(missing_ok=True)
    with result.with_suffix(".txt").open("w") as output:
        ended = subprocess.run(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
    if ended.returncode not in _ENDED_WELL or not result.exists():
        return None
    found: Result = json.loads(result.read_text())
    return found


def _keep(target: Target, found: Result) -> None:
    """Write every case, and what the page is made of."""
    target.played.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    differing = [case for case in found["cases"] if case["verdict"] == Verdict.DIFFERS.value]
    small = {
        "version": target.version(),
        "date": today,
        "total": found["total"],
        "chapters": found["chapters"],
        "differs": {case["name"]: case["problems"][0] for case in differing} if target.is_ours else {},
    }
    target.result.write_text(json.dumps(small, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _not_run(target: Target, why: str) -> str:
    target.result.write_text(json.dumps({"not run": why}) + "\n", encoding="utf-8")
    return f"{target.title}: not run: {why}"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
