"""The inner layers of `core`: each imports only those below it, and circles of imports stay small and in one folder."""

import ast
from functools import cache
from pathlib import Path

CORE = Path(__file__).resolve().parents[3] / "fakebroker" / "broker" / "core"

# From the bottom. A module or a folder with all that is in it; of two that name a module the longer one counts.
# Those that stand in one row may import each other.
LAYERS: list[tuple[str, ...]] = [
    ("dates", "deadlines", "java_hash", "java_hash_map", "java_priority_queue", "long_passes", "metadata_parts"),
    ("state_fields",),
    ("features", "quotas", "re2", "security"),
    ("telemetry",),
    ("logs", "topics", "topics_host", "log_directories", "topic_config", "topic_rules", "stale_view", "elections"),
    ("groups.kinds", "groups.classic.states"),
    ("offsets",),
    ("events",),
    ("coordinator.runtime",),
    ("share_state",),
    ("transactions",),
    ("groups", "groups.classic"),
    ("groups.modern",),
    ("groups.share",),
    ("groups.streams",),
    ("groups.consumer",),
    ("share_partitions",),
    ("coordinator",),
    ("cluster", "node", "broker_life", "disk_faults", "slow_flushes"),
    ("cluster_state", "config_resources", "config_changes"),
    ("explain",),
]
MAX_CIRCLE = 5


@cache
def modules() -> dict[str, Path]:
    """Every module below `core` by its name there, e.g. "logs.log"."""
    names = {path: ".".join(path.relative_to(CORE).with_suffix("").parts) for path in sorted(CORE.rglob("*.py"))}
    return {name.removesuffix(".__init__"): path for path, name in names.items() if name != "__init__"}


def imports_of(source: str) -> set[str]:
    """The modules of `core` that a source imports, wherever in it, those for type checking only included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            members = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {each if _in_core(each) in modules() else node.module or "" for each in members}
    return {name for each in found if (name := _in_core(each)) in modules()}


def _in_core(module: str) -> str:
    prefix = "fakebroker.broker.core."
    return module.removeprefix(prefix) if module.startswith(prefix) else ""


@cache
def graph() -> dict[str, set[str]]:
    """What each module imports."""
    return {name: imports_of(path.read_text()) - {name} for name, path in modules().items()}


def layer_of(module: str) -> int | None:
    """The number of a module's layer, counted from the bottom; None if no row names it."""
    rows = {name: number for number, row in enumerate(LAYERS) for name in row}
    parts = module.split(".")
    names = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    return next((rows[name] for name in names if name in rows), None)


def circles(arrows: dict[str, set[str]]) -> list[set[str]]:
    """The sets of modules of which each imports each other, on whatever way (strongly connected components)."""
    reached = {module: _reached(arrows, module) for module in arrows}
    found = {frozenset(other for other in arrows if other in reached[m] and m in reached[other]) for m in arrows}
    return [set(circle) for circle in sorted(found, key=sorted) if len(circle) > 1]


def _reached(arrows: dict[str, set[str]], start: str) -> set[str]:
    reached: set[str] = set()
    todo = [start]
    while todo:
        for module in arrows.get(todo.pop(), set()) - reached:
            reached.add(module)
            todo.append(module)
    return reached


def test_every_module_has_a_layer() -> None:
    """A module that no row names fails, and so does a row that names nothing."""
    assert [module for module in graph() if layer_of(module) is None] == []
    assert [name for row in LAYERS for name in row if name not in modules()] == []


def test_imports_go_down() -> None:
    """A module imports only from its own layer and those below it, also for type checking."""
    upwards = {
        module: sorted(wrong)
        for module, imported in graph().items()
        if (wrong := [each for each in imported if (layer_of(each) or 0) > (layer_of(module) or 0)])
    }

    assert upwards == {}


def test_circles_are_small_and_in_one_folder() -> None:
    """Of modules that import each other in a circle there are at most five, all in one folder."""
    found = circles(graph())

    assert [sorted(circle) for circle in found if len(circle) > MAX_CIRCLE] == []
    assert [sorted(circle) for circle in found if len({module.rpartition(".")[0] for module in circle}) > 1] == []


def test_circles_are_found() -> None:
    """Modules that import each other over a third are one circle; one that only imports them is none of it."""
    arrows = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": {"f"}, "f": {"e"}}

    assert circles(arrows) == [{"a", "b", "c"}, {"e", "f"}]


def test_imports_are_found() -> None:
    """Imports in functions, of names and of modules are seen; those from outside of core are not."""
    source = (
        "from fakebroker.broker.core.logs import log\n"
        "from fakebroker.broker.core.topics import Topic\n"
        "from fakebroker.protocol.errors import ErrorCode\n"
        "def f(): from fakebroker.broker.core.groups.group import Group\n"
    )

    assert imports_of(source) == {"logs.log", "topics", "groups.group"}
