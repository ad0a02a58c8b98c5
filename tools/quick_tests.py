"""The tests of `make quick`, for pytest's command line: a fixed core, and those of what changed since the last commit.

python -m tools.quick_tests
"""

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What the Makefile's APART leaves out: their modules import what `make quick` does not set up.
APART = ("tests/analysis/pipeline", "tests/page", "tests/cli/http/test_random_requests.py")
CORE = (
    "tests/broker/apis",
    "tests/conformance/test_sim.py",
    "tests/broker/core",
    "tests/test_house.py",
    "tests/protocol/wire",
)


def changed() -> list[str]:
    """The files that differ from the last commit, and new ones; none where there is no git."""
    commands = (["git", "diff", "--name-only", "HEAD"], ["git", "ls-files", "--others", "--exclude-standard"])
    try:
        done = [subprocess.run(each, cwd=ROOT, capture_output=True, text=True, check=True) for each in commands]
    except (OSError, subprocess.CalledProcessError):
        return []
    return [line for each in done for line in each.stdout.splitlines()]


def mirror_of(path: str) -> str | None:
    """The tests of a file: a test itself, that of a module beside its mirror, or all of the mirrored folder.

    Pages have those that check pages, scenarios those that play them.
    """
    file = Path(path)
    if file.parts[0] == "tests" and file.name.startswith("test_") and file.suffix == ".py":
        return path
    if file.suffix == ".md" and file.parts[0] != "tests":
        return "tests/test_rules.py" if file.parts[:2] == ("docs", "rules") else "tests/test_docs.py"
    if file.parts[0] == "scenarios":
        return "tests/scenarios"
    if file.parts[0] not in ("fakebroker", "tools") or file.suffix != ".py":
        return None
    folder = Path("tests", *file.parts[1 if file.parts[0] == "fakebroker" else 0 : -1])
    if (ROOT / folder / f"test_{file.name}").exists():
        return str(folder / f"test_{file.name}")
    return str(folder) if len(folder.parts) > 1 and (ROOT / folder).exists() else None


def users_of(path: str) -> list[str]:
    """The tests that import a helper of tests."""
    file = Path(path)
    if file.parts[0] != "tests" or file.suffix != ".py" or file.name.startswith(("test_", "conftest")):
        return []
    module = ".".join(file.with_suffix("").parts)
    importing = re.compile(rf"^\s*(?:from|import) {re.escape(module)}\b", re.M)
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    return [test.relative_to(ROOT).as_posix() for test in tests if importing.search(test.read_text())]


def chosen(paths: Iterable[str]) -> list[str]:
    """The core and the tests of some files, none twice."""
    found = {test for path in paths for test in (mirror_of(path), *users_of(path)) if test}
    more = {test for test in found if (ROOT / test).exists() and not test.startswith(APART)}
    return [
        *CORE,
        *sorted(test for test in more if not any(test == each or test.startswith(each + "/") for each in CORE)),
    ]


if __name__ == "__main__":
    print(*chosen(changed()))
