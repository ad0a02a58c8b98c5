"""`make quick` runs a fixed core and the tests of what changed."""

from tools.quick_tests import CORE, ROOT, chosen, mirror_of


def test_the_core_is_there() -> None:
    """Every path of the core exists, and it is all that runs when nothing changed."""
    assert [path for path in CORE if not (ROOT / path).exists()] == []
    assert chosen([]) == list(CORE)


def test_a_module_has_the_tests_of_its_mirror() -> None:
    """The file of the same name, else the folder; a test is its own; pages have none."""
    assert mirror_of("fakebroker/engine/lanes.py") == "tests/engine/test_lanes.py"
    assert mirror_of("fakebroker/engine/dispatch.py") == "tests/engine"
    assert mirror_of("tests/sim/test_nodes.py") == "tests/sim/test_nodes.py"
    assert mirror_of("docs/tls.md") is None


def test_nothing_is_run_twice() -> None:
    """What is part of the core, or is gone, is not added."""
    paths = ["fakebroker/core/topics.py", "tests/sim/test_nodes.py", "fakebroker/sim/nodes.py", "tests/test_gone.py"]

    assert chosen(paths)[len(CORE) :] == ["tests/sim/test_nodes.py"]
