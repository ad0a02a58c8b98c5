"""The workflows of GitHub Actions run targets of the Makefile, with no more rights than they need."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tools.stages import ROOT

FOLDER = ROOT / ".github" / "workflows"
SET_UP_LINES = {"choco install make --no-progress --yes"}
WORKFLOWS = {path.name: yaml.safe_load(path.read_text()) for path in sorted(FOLDER.glob("*.yml"))}
JOBS = {f"{name}:{key}": job for name, workflow in WORKFLOWS.items() for key, job in workflow["jobs"].items()}
PINNED = re.compile(r"[\w-]+/[\w-]+@(v\d+(\.\d+)*|release/v\d+)")
# What jobs may do beside reading the repository, and why.
RIGHTS = {
    "release.yml:pypi": {"attestations", "id-token"},  # provenance, trusted publishing
    "release.yml:image": {"attestations", "id-token", "packages"},  # provenance, the image itself
    "release.yml:site": {"id-token", "pages"},
}


def targets() -> set[str]:
    """The targets of the Makefile."""
    lines = (ROOT / "Makefile").read_text().splitlines()
    return {line.split(":")[0] for line in lines if line[:1].islower() and ":" in line and ":=" not in line}


def steps(job: dict[str, Any], key: str) -> Iterator[str]:
    """The values of a key of a job's steps; one that names the matrix gives one for each entry."""
    for step in job["steps"]:
        value = step.get(key)
        if value is None:
            continue
        found = re.search(r"\$\{\{ matrix\.(\w+) \}\}", value)
        entries = job["strategy"]["matrix"][found[1]] if found else [""]
        yield from (value.replace(found[0], entry) if found else value for entry in entries)


def test_there_are_workflows() -> None:
    """For each change, for each night, for each release."""
    assert set(WORKFLOWS) == {"ci.yml", "nightly.yml", "release.yml"}


@pytest.mark.parametrize("name", JOBS)
def test_commands_are_targets_of_the_makefile(name: str) -> None:
    """So that they run on any machine; what is not is a line that sets up the machine."""
    for command in steps(JOBS[name], "run"):
        words = command.split()
        names = re.sub(r"\w+=('[^']*'|\S+)", "", command).split()[1:]
        is_make = words[0] == "make" and names and set(names) <= targets()
        assert is_make or command in SET_UP_LINES, f"{command!r} is no target of the Makefile"


@pytest.mark.parametrize("name", JOBS)
def test_actions_are_pinned_by_version(name: str) -> None:
    """A branch of another project changes what a job does."""
    for action in steps(JOBS[name], "uses"):
        assert PINNED.fullmatch(action), f"{action} is not pinned by version"


@pytest.mark.parametrize("name", JOBS)
def test_a_job_ends_and_can_do_only_what_it_must(name: str) -> None:
    """Each has a limit of time, and writes nothing that is not listed here."""
    job = JOBS[name]
    assert 0 < job["timeout-minutes"] <= 150
    written = {right for right, access in job.get("permissions", {}).items() if access == "write"}
    assert written == RIGHTS.get(name, set())


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_reads_only_and_runs_once_at_a_time(name: str) -> None:
    """Rights beyond reading are given to single jobs."""
    workflow = WORKFLOWS[name]
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["concurrency"]["group"]


def test_the_pythons_of_the_workflows_are_those_of_the_package() -> None:
    """The matrix of ci.yml and the classifiers of pyproject.toml name the same ones."""
    named = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text())
    assert WORKFLOWS["ci.yml"]["jobs"]["linux"]["strategy"]["matrix"]["python"] == named
