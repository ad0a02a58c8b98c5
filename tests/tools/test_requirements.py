"""scripts/requirements lists what dependency groups need, whatever pip there is."""

import subprocess
import sys

from tools.stages import ROOT


def requirements(*groups: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "scripts/requirements", *groups]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_groups_and_extras_are_spelt_out() -> None:
    """A group that includes others, and extras of the project, become requirements, each once."""
    lines = requirements("dev", "lint").stdout.splitlines()

    assert len(lines) == len(set(lines)) > 20
    assert {line.split(">")[0].split("[")[0] for line in lines} >= {"ruff", "pytest", "pyspark", "playwright", "numpy"}
    assert not any(line.startswith("fakebroker") for line in lines)


def test_what_make_test_sets_up_has_no_browser_and_no_spark() -> None:
    """Those are set up by the targets that need them."""
    assert not {"pyspark", "playwright", "schemathesis"} & {
        line.split(">")[0] for line in requirements("test").stdout.split()
    }


def test_a_group_that_is_not_there_is_named() -> None:
    """With those that are."""
    done = requirements("tset")

    assert done.returncode == 1
    assert "no group tset; there are: lint, test" in done.stderr
