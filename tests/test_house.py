"""The rules of the house, read from the source: layers, bans, sizes, and what an import may cost."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakebroker.protocol.wire.registry import APIS
from tests.support.sources import nodes_of, python_files, tree_of

PACKAGE = Path(__file__).resolve().parent.parent / "fakebroker"
SOURCES = python_files("fakebroker")

# The rooms, and what each may import besides itself; docs/explanation/architecture.md draws the same.
ROOMS: dict[str, set[str]] = {
    "protocol": set(),
    "broker": {"protocol"},
    "platform": set(),
    "serve": {"protocol", "broker", "platform"},
    "client": {"protocol"},
    "testing": {"protocol", "broker", "platform", "serve", "client"},
    "scenarios": {"protocol", "broker", "platform", "client", "testing"},
    "analysis": {"protocol", "platform", "client", "testing", "scenarios"},
    "cli": {"protocol", "broker", "platform", "serve", "client", "testing", "scenarios", "analysis"},
}
# The layers inside the two rooms that have them, besides what the room itself may import.
LAYERS: dict[str, dict[str, set[str]]] = {
    "protocol": {
        "errors": set(),
        "json_text": set(),
        "java_duration": set(),
        "java_text": set(),
        "annotations": set(),
        "pace": set(),
        "arguments": {"errors", "annotations"},
        "wildcards": set(),
        "short_errors": {"errors", "arguments"},
        "extras": {"errors"},
        "instant": set(),
        "jaas": set(),
        "durations": {"errors"},
        "listeners": {"errors", "arguments"},
        "schema": {"errors"},
        "records": {"errors", "pace", "schema"},
        "storage": {"errors", "records"},
        "wire": {"errors", "schema"},
    },
    "broker": {
        "settings": set(),
        "release": {"settings"},
        "core": {"settings", "release"},
        "apis": {"settings", "release", "core"},
        "engine": {"settings", "release", "core", "apis"},
    },
}
ABOVE_THE_LINE = {"protocol", "broker", "client"}  # but for client/scripted and client/cluster, which have sockets
BELOW_THE_LINE = ("fakebroker.client.scripted", "fakebroker.client.cluster")
BANNED_MODULES = {"asyncio", "socket", "time", "threading", "selectors", "subprocess", "secrets"}
BANNED_CALLS = {"uuid4", "uuid1", "urandom", "datetime.now", "datetime.utcnow", "date.today"}
LONGEST_FUNCTION, LONGEST_FILE = 70, 500

# Modules beside the rooms: users import them by these names.
PUBLIC = {"oauth.py", "tls.py", "types.py"}

# What `import fakebroker` may load of our own and of others: heavy modules load when used.
CHEAP = {"fakebroker"}


def room_of(module: str) -> str:
    """The room of a dotted module name inside the package; empty for the package itself."""
    return module.split(".")[1] if "." in module else ""


def layer_of(module: str) -> str:
    """The part of its room that a module belongs to; empty for the room itself."""
    parts = module.split(".")
    return parts[2] if len(parts) > 2 else ""


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def imports_of(tree: ast.AST) -> Iterator[str]:
    """Every module that a file imports, wherever in the file, those for type checking only included."""
    for plain in nodes_of(tree, ast.Import):
        yield from (alias.name for alias in plain.names)
    for node in nodes_of(tree, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        yield node.module or ""
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def above_the_line() -> list[Path]:
    """The files in which nothing depends on more than its inputs."""
    named = [(path, name_of(path)) for path in SOURCES]
    return [path for path, name in named if room_of(name) in ABOVE_THE_LINE and not name.startswith(BELOW_THE_LINE)]


def functions_of(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every function with its length in lines, its docstring not counted."""
    for node in nodes_of(tree, ast.FunctionDef, ast.AsyncFunctionDef):
        lines = (node.end_lineno or 0) - node.lineno + 1
        if ast.get_docstring(node, clean=False) is not None:
            lines -= (node.body[0].end_lineno or 0) - node.body[0].lineno + 1
        yield node.name, lines


def imported_by(path: Path) -> set[str]:
    """The modules of the rooms that a file imports; public names such as `fakebroker.FakeBroker` are no room's."""
    return {
        module for module in imports_of(tree_of(path)) if module.startswith("fakebroker.") and room_of(module) in ROOMS
    }


def test_rooms_import_one_way() -> None:
    """A file imports only from its own room and from the rooms that its room stands on."""
    wrong = {}
    for path in SOURCES:
        room = room_of(name_of(path))
        if room in ROOMS:
            found = {module for module in imported_by(path) if room_of(module) not in ROOMS[room] | {room}}
            if found:
                wrong[name_of(path)] = sorted(found)

    assert wrong == {}


def test_layers_inside_a_room_import_one_way() -> None:
    """In `protocol` and `broker`, a file imports only from its own layer and the layers below it."""
    wrong = {}
    for path in SOURCES:
        room, layer = room_of(name_of(path)), layer_of(name_of(path))
        if room in LAYERS and layer:
            allowed = LAYERS[room][layer] | {layer}
            ours = {module for module in imported_by(path) if room_of(module) == room}
            if found := sorted(module for module in ours if layer_of(module) not in allowed):
                wrong[name_of(path)] = found

    assert wrong == {}


def test_only_testing_puts_brokers_together() -> None:
    """`scenarios`, `cli` and `analysis` ask `testing` for a broker; they make no engine, cluster or network."""
    parts = {"Engine", "Cluster", "SimNetwork", "Journal", "Server"}
    found = {
        f"{name_of(path)}: {call.func.id}"
        for path in SOURCES
        if room_of(name_of(path)) in {"scenarios", "cli", "analysis"}
        for call in nodes_of(tree_of(path), ast.Call)
        if isinstance(call.func, ast.Name) and call.func.id in parts
    }

    assert found == set()


def circles(arrows: dict[str, set[str]]) -> set[tuple[str, str]]:
    """The pairs of nodes that can be reached from each other."""
    reached = {node: set(targets) for node, targets in arrows.items()}
    for middle in arrows:
        for targets in reached.values():
            if middle in targets:
                targets |= reached[middle]
    return {(a, b) for a in reached for b in reached[a] if a < b and a in reached.get(b, ())}


@pytest.mark.parametrize("room", ["broker", "testing"])
def test_packages_inside_a_room_have_no_circle(room: str) -> None:
    """The packages and modules of a room import one way, imports for types and inside functions included.

    `testing.snapshot` makes brokers by their public names, as a test does.
    """
    arrows: dict[str, set[str]] = {}
    for path in SOURCES:
        if room_of(name_of(path)) == room:
            ours = {layer_of(module) for module in imported_by(path) if room_of(module) == room}
            arrows.setdefault(layer_of(name_of(path)), set()).update(ours)

    assert circles(arrows) == set()


def test_a_circle_is_found() -> None:
    """Also one that goes by others; what merely stands below is none."""
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == {("a", "b"), ("a", "c"), ("b", "c")}


def test_the_package_is_its_rooms() -> None:
    """Beside the rooms there are only the public names, `python -m fakebroker` and documented public modules."""
    assert {path.relative_to(PACKAGE).parts[0] for path in SOURCES if path.parent != PACKAGE} == set(ROOMS)
    assert {path.name for path in PACKAGE.iterdir() if path.is_file()} == {
        "__init__.py",
        "__main__.py",
        "py.typed",
    } | PUBLIC


def test_each_room_says_what_it_is_for() -> None:
    """A room's `__init__.py` has a docstring of at most ten lines, and nothing else."""
    for room in ROOMS:
        tree = ast.parse((PACKAGE / room / "__init__.py").read_text())
        docstring = ast.get_docstring(tree)
        assert docstring is not None, room
        assert docstring.count("\n") < 10, room
        assert len(tree.body) == 1, room


def test_no_clock_no_chance_no_io_above_the_line() -> None:
    """Above the line nothing touches loops, sockets, clocks, threads or unseeded randomness."""
    found = {name_of(path): sorted(banned_in(tree_of(path))) for path in above_the_line()}

    assert len(found) > 400
    assert {name: banned for name, banned in found.items() if banned} == {}


def banned_in(tree: ast.AST) -> Iterator[str]:
    """The modules and calls in a file that depend on more than its inputs."""
    yield from {m.split(".")[0] for m in imports_of(tree)} & BANNED_MODULES
    for call in {ast.unparse(node.func) for node in nodes_of(tree, ast.Call)}:
        is_unseeded = call.startswith("random.") and call != "random.Random"
        if is_unseeded or any(call == name or call.endswith("." + name) for name in BANNED_CALLS):
            yield call


def test_the_bans_see_what_is_banned() -> None:
    """An import or a call that depends on the machine is found, a seeded Random is not."""
    source = (
        "import socket\nfrom time import time\nuuid.uuid4()\nrandom.random()\nrandom.Random(1)\nself.random.random()"
    )

    assert sorted(banned_in(ast.parse(source))) == ["random.random", "socket", "time", "uuid.uuid4"]


def test_no_stream_loses_a_cancellation() -> None:
    """Neither asyncio.wait_for nor Starlette's StreamingResponse: each goes on under load when it should end."""
    for path in (PACKAGE / "testing" / "broker.py", *(PACKAGE / "cli" / "http").glob("*.py")):
        names = {getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(tree_of(path))}
        assert not names & {"wait_for", "StreamingResponse"}, path


def test_functions_and_files_fit_in_the_head() -> None:
    """No function is longer than 70 lines and no file longer than 500."""
    texts = {name_of(path): path.read_text() for path in SOURCES}
    functions = {name_of(path): list(functions_of(tree_of(path))) for path in SOURCES}

    assert [(name, f, n) for name, found in functions.items() for f, n in found if n > LONGEST_FUNCTION] == []
    assert [(name, text.count("\n")) for name, text in texts.items() if text.count("\n") > LONGEST_FILE] == []


def loaded_by(statement: str) -> set[str]:
    """The modules that a fresh interpreter holds after a statement, beyond those it starts with."""
    code = f"import sys; before = set(sys.modules); {statement}; print(*(set(sys.modules) - before))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_docstrings_are_sentences() -> None:
    """A rule id supports a sentence and never stands for one."""
    found = {
        f"{path.relative_to(PACKAGE)}: {text}"
        for path in SOURCES
        for node in nodes_of(tree_of(path), ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        for text in [ast.get_docstring(node) or ""]
        if text and not re.search(r"[a-z]{2,}.*[a-z]{2,}", re.sub(r"\b[A-Z]{2,3}-[0-9]+\b", "", text), re.S)
    }

    assert found == set()


def test_importing_the_package_is_cheap() -> None:
    """`import fakebroker` loads nothing of ours but the lazy names of the package, and no library."""
    assert {m for m in loaded_by("import fakebroker") if m.split(".")[0] not in sys.stdlib_module_names} == CHEAP
    assert not loaded_by("import fakebroker") & {"asyncio", "dataclasses", "inspect", "logging"}


def test_importing_the_pytest_plugin_is_cheap() -> None:
    """A test run that never asks for a broker does not pay for one."""
    loaded = loaded_by("import fakebroker.cli.pytest.plugin")

    assert {
        m for m in loaded if m.startswith(("fakebroker.protocol", "fakebroker.broker", "fakebroker.testing", "asyncio"))
    } == set()


def test_a_running_broker_needs_only_the_core_dependencies() -> None:
    """Serving loads no library beyond those that the core install names."""
    ours = {"click", "cramjam", "google_crc32c", "sortedcontainers", "fakebroker"}
    loaded = {
        m.split(".")[0]
        for m in loaded_by("import fakebroker.cli.main, fakebroker.testing.broker, fakebroker.serve.net.server")
    }

    assert {m for m in loaded - set(sys.stdlib_module_names) if not m.startswith("_")} <= ours


def test_without_control_nothing_of_it_is_imported() -> None:
    """A broker that is not controlled by HTTP does not load the control server, nor the libraries that it needs."""
    serve = "from fakebroker.cli.main import main; main(['serve', '--help'], standalone_mode=False)"
    for statement in (
        "import fakebroker.testing.broker, fakebroker.testing.handles.broker_control, fakebroker.serve.net.server",
        serve,
    ):
        loaded = loaded_by(
            f"import sys, io; out, sys.stdout = sys.stdout, io.StringIO(); {statement}; sys.stdout = out"
        )
        control_modules = (
            "fakebroker.cli.http",
            "fakebroker.cli.ctl",
            "pydantic",
            "starlette",
            "uvicorn",
            "prometheus_client",
        )
        assert [module for module in loaded if module.startswith(control_modules)] == []


def test_an_api_has_one_name_in_three_places() -> None:
    """The handler in apis/<api>.py has its messages in wire/messages/<api>.py and its tests in test_<api>.py."""
    tests = Path(__file__).resolve().parent / "broker" / "apis"
    places = [
        f
        for api in APIS.values()
        for f in (
            PACKAGE / f"broker/apis/{api.module}.py",
            PACKAGE / f"protocol/wire/messages/{api.module}.py",
            tests / f"test_{api.module}.py",
        )
    ]

    assert [str(path) for path in places if not path.exists()] == []


def test_a_folder_of_tests_is_in_the_package_of_its_parent() -> None:
    """Without `__init__.py` above it a package of tests has another name, by which Spark's workers do not find it."""
    tests = Path(__file__).resolve().parent
    packages = [path.parent for path in tests.rglob("__init__.py") if "node_modules" not in path.parts]

    assert [str(folder) for folder in packages if folder != tests and folder.parent not in packages] == []


def test_operating_systems_are_asked_for_in_one_room() -> None:
    """Only `platform` imports modules that some systems lack, or asks which system it is."""
    modules = {"fcntl", "msvcrt", "resource", "termios", "pwd", "grp"}
    asked = re.compile(
        r"\bsys\.platform\b|\bos\.(name|uname|killpg|getuid|pwrite|O_CLOEXEC|fork|register_at_fork|sched_\w+)\b"
        r"|\.add_signal_handler\(|\bsignal\.SIG(KILL|STOP|CONT|HUP)\b|hasattr\((os|select|signal|socket)\b"
    )
    wrong = {}
    for path in SOURCES:
        if room_of(name_of(path)) not in ("platform", ""):
            found = {module for module in imports_of(tree_of(path)) if module in modules}
            found |= {match[0] for match in asked.finditer(path.read_text())}
            if found:
                wrong[name_of(path)] = sorted(found)
    assert wrong == {}
