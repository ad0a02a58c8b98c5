"""The tests of `make quick`, for pytest's command line: a fixed core, and those of what changed since the last commit.

python -m tools.quick_tests
"""

import subprocess
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORE = ("tests/apis", "tests/conformance/test_sim.py", "tests/core", "tests/test_house.py", "tests/wire")


def changed() -> list[str]:
    """The files that differ from the last commit, and new ones; none where there is no git."""
    commands = (["git", "diff", "--name-only", "HEAD"], ["git", "ls-files", "--others", "--exclude-standard"])
    try:
        done = [subprocess.run(each, cwd=ROOT, capture_output=True, text=True, check=True) for each in commands]
    except (OSError, subprocess.CalledProcessError):
        return []
    return [line for each in done for line in each.stdout.splitlines()]


def mirror_of(path: str) -> str | None:
    """The tests of a file: a test itself, that of a module beside its mirror, or all of the mirrored folder."""
    file = Path(path)
    if file.parts[0] == "tests" and file.name.startswith("test_") and file.suffix == ".py":
        return path
    if file.parts[0] != "fakebroker" or file.suffix != ".py":
        return None
    folder = Path("tests", *file.parts[1:-1])
    if (ROOT / folder / f"test_{file.name}").exists():
        return str(folder / f"test_{file.name}")
    return str(folder) if len(folder.parts) > 1 and (ROOT / folder).exists() else None


def chosen(paths: Iterable[str]) -> list[str]:
    """The core and the tests of some files, none twice."""
    more = {test for path in paths if (test := mirror_of(path)) and (ROOT / test).exists()}
    return [
        *CORE,
        *sorted(test for test in more if not any(test == each or test.startswith(each + "/") for each in CORE)),
    ]


if __name__ == "__main__":
    print(*chosen(changed()))
