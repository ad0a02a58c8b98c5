"""Clients of the control API that openapi-typescript and oapi-codegen make of docs/reference/openapi.json."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.serving import controlled

CLIENTS = Path(__file__).parent
ROOT = CLIENTS.parents[1]
DOCUMENT = ROOT / "docs" / "reference" / "openapi.json"
TOOLS = CLIENTS / "node" / "node_modules" / ".bin"
MODULES = ROOT / ".go" / "modules"
GENERATOR = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen"

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(300)]

needs_node = pytest.mark.skipif(
    shutil.which("node") is None or not (TOOLS / "openapi-typescript").exists(),
    reason="OPENAPI-TYPESCRIPT IS NOT TESTED: needs node on the PATH and what `make setup-node` installs",
)
needs_go = pytest.mark.skipif(
    shutil.which("go") is None or not (MODULES / "github.com" / "oapi-codegen").exists(),
    reason="OAPI-CODEGEN IS NOT TESTED: needs go on the PATH and what `make setup-go` fetches",
)


@pytest.fixture
def control() -> Iterator[str]:
    """The URL of a control API."""
    with controlled() as url:
        yield url


def run(folder: Path, *command: str, **environment: str) -> str:
    """The output of a program that must succeed."""
    ended = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, timeout=280
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.node
@needs_node
def test_typescript_compiles_and_talks_to_isolated_brokers(control: str, tmp_path: Path) -> None:
    """The types of openapi-typescript pass `tsc --strict` without a flag; only what must be given is required."""
    shutil.copytree(CLIENTS / "node" / "openapi", tmp_path, dirs_exist_ok=True)
    shutil.copy(CLIENTS / "node" / "package.json", tmp_path)
    (tmp_path / "node_modules").symlink_to(TOOLS.parent.resolve())

    run(tmp_path, str(TOOLS / "openapi-typescript"), str(DOCUMENT), "-o", "api.d.ts")
    run(tmp_path, str(TOOLS / "tsc"), "-p", ".")

    assert run(tmp_path, "node", "control.js", FAKEBROKER_CONTROL_URL=control) == "all as described\n"


@pytest.mark.go
@needs_go
def test_go_compiles_and_talks_to_isolated_brokers(control: str, tmp_path: Path) -> None:
    """What oapi-codegen makes compiles, and its client reaches /brokers/{broker_id} by its base URL."""
    shutil.copytree(CLIENTS / "openapi" / "go", tmp_path, dirs_exist_ok=True)
    (tmp_path / "api").mkdir()
    offline = {"GOMODCACHE": str(MODULES), "GOPROXY": "off", "GOTOOLCHAIN": "local", "GOFLAGS": "-modcacherw"}

    run(tmp_path, "go", "tool", "oapi-codegen", "-config", "oapi-codegen.yaml", str(DOCUMENT), **offline)
    run(tmp_path, "go", "build", "-o", "control", ".", **offline)

    assert run(tmp_path, str(tmp_path / "control"), FAKEBROKER_CONTROL_URL=control) == "all as described\n"


def test_the_page_names_the_commands_that_are_run() -> None:
    """docs/how-to/other-languages.md has the versions that the tests have."""
    page = (ROOT / "docs" / "how-to" / "other-languages.md").read_text()
    wanted = (CLIENTS / "openapi" / "go" / "go.mod").read_text()
    version = re.search(r"github.com/oapi-codegen/oapi-codegen/v2 (v\S+)", wanted)
    typescript = re.search(r'"openapi-typescript": "([\d.]+)"', (CLIENTS / "node" / "package.json").read_text())

    assert version is not None
    assert f"{GENERATOR}@{version[1]}" in page
    assert typescript is not None
    assert f"openapi-typescript@{typescript[1]}" in page
    for name in ("control.ts", "main.go"):
        (program,) = CLIENTS.rglob(f"openapi/**/{name}")
        assert f"]({os.path.relpath(program, ROOT / 'docs' / 'how-to')})" in page
