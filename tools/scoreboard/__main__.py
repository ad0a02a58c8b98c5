"""Judge every broker of the scoreboard, and write docs/reference/scoreboard.md:  python -m tools.scoreboard [NAME ...]

With names only those brokers are judged again; the others keep the results of the last run in .scoreboard. A broker
that cannot be started here, for want of Java or Go, is "not run". `--page` writes the page from the results alone.
"""

import datetime
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from tools.scoreboard.page import PAGE, page, unexplained
from tools.scoreboard.targets import FOLDER, ROOT, TARGETS, TARGETS_3_9, Target

AT_A_TIME = 2  # brokers are judged by waiting, most of the time
LIMIT_S = 900


def main(arguments: list[str]) -> int:
    """Run, write the page, and say what of ours is not explained."""
    every = (*TARGETS, *TARGETS_3_9)
    names = [each for each in arguments if each != "--page"]
    unknown = [name for name in names if name not in {target.name for target in every}]
    if unknown:
        print(
            f"scoreboard: no broker {', '.join(unknown)}; there are {', '.join(t.name for t in every)}", file=sys.stderr
        )
        return 2
    FOLDER.mkdir(exist_ok=True)
    if "--page" not in arguments:
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            for line in pool.map(_judge, [target for target in every if not names or target.name in names]):
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
        target.result.write_text(json.dumps({"not run": why}) + "\n")
        return f"{target.title}: not run: {why}"
    began_s = time.monotonic()
    command = [sys.executable, "-m", "fakebroker", "conformance", "--command", target.command]
    command += ["--release", target.release, "--side-by-side", str(target.side_by_side)]
    command += ["--json", str(target.result), "--time-limit", str(LIMIT_S)]
    with target.result.with_suffix(".txt").open("w") as output:
        ended = subprocess.run(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
    if ended.returncode not in (0, 1, 3) or not target.result.exists():
        target.result.write_text(json.dumps({"not run": f"the command ended with status {ended.returncode}"}) + "\n")
        return f"{target.title}: not run, see {target.result.with_suffix('.txt')}"
    found = json.loads(target.result.read_text())
    found |= {"version": target.version(), "date": datetime.datetime.now(datetime.UTC).date().isoformat()}
    target.result.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    return f"{target.title}: {found['total']} in {time.monotonic() - began_s:.0f} s"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
