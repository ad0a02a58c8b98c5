"""The examples of docs/how-to/testcontainers.md: they compile, and do in a container what the page says."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.java_programs import JARS, SOURCES
from tests.clients.test_node_and_go import MODULES
from tests.support.containers import Engine
from tests.support.image import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.clients, pytest.mark.timeout(400)]

CLIENTS = ROOT / "tests" / "clients"
PAGE = ROOT / "docs" / "how-to" / "testcontainers.md"
EXAMPLES = {
    "python": CLIENTS / "testcontainers" / "orders.py",
    "java": CLIENTS / "testcontainers" / "Orders.java",
    "go": CLIENTS / "go" / "testcontainers" / "orders_test.go",
    "js": CLIENTS / "node" / "testcontainers.js",
}
LIBRARY = JARS.parent / "testcontainers"
PACKAGES = CLIENTS / "node" / "node_modules"
OFFLINE = {"GOMODCACHE": str(MODULES / "modules"), "GOPROXY": "off", "GOTOOLCHAIN": "local"}

needs_java = pytest.mark.skipif(
    shutil.which("javac") is None or not list(LIBRARY.glob("testcontainers-*.jar")),
    reason="TESTCONTAINERS FOR JAVA IS NOT TESTED: needs javac and the jars that `make setup-java` fetches",
)
needs_go = pytest.mark.skipif(
    shutil.which("go") is None or not (MODULES / "modules/github.com/testcontainers").exists(),
    reason="TESTCONTAINERS FOR GO IS NOT TESTED: needs go and the modules that `make setup-go` fetches",
)
needs_node = pytest.mark.skipif(
    shutil.which("node") is None or not (PACKAGES / "testcontainers").exists(),
    reason="TESTCONTAINERS FOR NODE.JS IS NOT TESTED: needs node and what `make setup-node` installs",
)


@pytest.fixture(scope="module")
def api(engine: Engine, image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of programs that use the engine's API."""
    with engine.api(tmp_path_factory.mktemp("api")) as environment:
        yield environment


def run(command: list[str], folder: Path, environment: dict[str, str]) -> str:
    """What a program prints that must succeed."""
    ended = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, timeout=300
    )
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    return ended.stdout


def compiled_java(folder: Path) -> str:
    """The class path of the example in Java, compiled without a warning into a folder."""
    path = os.pathsep.join([str(folder), f"{LIBRARY}/*", f"{JARS}/*"])
    run(["javac", "-Xlint:all", "-Werror", "-d", str(folder), "-cp", path, str(EXAMPLES["java"])], SOURCES, {})
    return path


def test_what_the_page_shows_is_in_the_examples() -> None:
    """Every block of code of a language is, word for word, in its file, and each language has one."""
    page = PAGE.read_text()
    wrong = []
    for language, file in EXAMPLES.items():
        blocks = re.findall(rf"```{language}\n(.*?)```", page, re.S)
        assert blocks, language
        wrong += [block for block in blocks if block not in file.read_text()]
    assert wrong == []


def test_the_example_in_python_imports() -> None:
    """With Testcontainers installed; `make types` checks its types."""
    run([sys.executable, "-W", "error", "-c", "import tests.clients.testcontainers.orders"], ROOT, {})


@needs_java
def test_the_example_in_java_compiles(tmp_path: Path) -> None:
    """Without a warning of the compiler."""
    compiled_java(tmp_path)


@needs_go
def test_the_example_in_go_compiles() -> None:
    """`go vet` finds nothing."""
    run(["go", "vet", "-tags", "containers", "./testcontainers"], CLIENTS / "go", OFFLINE)


@needs_node
def test_the_example_in_javascript_has_the_right_types() -> None:
    """TypeScript's compiler checks it against the types of the libraries."""
    options = "--allowJs --checkJs --noEmit --strict --skipLibCheck --target es2022 --module nodenext --types node"
    run([str(PACKAGES / ".bin" / "tsc"), *options.split(), EXAMPLES["js"].name], CLIENTS / "node", {})


def test_the_example_in_python_runs(api: dict[str, str], tmp_path: Path) -> None:
    """One test passes, and both fixtures end well."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", tmp_path]
    assert "1 passed in " in run([*map(str, command), str(EXAMPLES["python"])], tmp_path, api)


@needs_java
def test_the_example_in_java_runs(api: dict[str, str], tmp_path: Path) -> None:
    """It writes a record and advances time."""
    run(["java", "-XX:TieredStopAtLevel=1", "-cp", compiled_java(tmp_path), "Orders"], tmp_path, api)


@needs_go
def test_the_example_in_go_runs(api: dict[str, str]) -> None:
    """Its one test passes."""
    command = ["go", "test", "-count=1", "-v", "-tags", "containers", "./testcontainers"]
    assert "--- PASS: TestOrders" in run(command, CLIENTS / "go", {**OFFLINE, **api})


@needs_node
def test_the_example_in_javascript_runs(engine: Engine, api: dict[str, str]) -> None:
    """Its one test passes. Beside podman it maps all ports of the image, because the library waits for all of them."""
    text, copy = EXAMPLES["js"].read_text(), EXAMPLES["js"].with_name(f"containers-{os.getpid()}.js")
    if engine.program[0] == "podman":
        text = text.replace("(8092, 19092)", "(8092, 9092, 19092, 29092)")
    copy.write_text(text)
    try:
        command = ["node", "--test", "--test-reporter=tap", copy.name]
        assert re.search(r"^# pass 1$", run(command, CLIENTS / "node", api), re.M)
    finally:
        copy.unlink()
