"""`make quick` runs a fixed core and the tests of what changed."""

from tools.quick_tests import CORE, ROOT, chosen, mirror_of, users_of


def test_the_core_is_there() -> None:
    """Every path of the core exists, and it is all that runs when nothing changed."""
    assert [path for path in CORE if not (ROOT / path).exists()] == []
    assert chosen([]) == list(CORE)


def test_a_module_has_the_tests_of_its_mirror() -> None:
    """The file of the same name, else the folder; a test is its own; pages and scenarios have what checks them."""
    assert mirror_of("fakebroker/broker/engine/lanes.py") == "tests/broker/engine/test_lanes.py"
    assert mirror_of("fakebroker/broker/engine/dispatch.py") == "tests/broker/engine"
    assert mirror_of("tests/serve/sim/test_nodes.py") == "tests/serve/sim/test_nodes.py"
    assert mirror_of("docs/how-to/tls.md") == mirror_of("README.md") == "tests/test_docs.py"
    assert mirror_of("docs/rules/jg-join-group.md") == "tests/test_rules.py"
    assert mirror_of("scenarios/basics/a.yaml") == "tests/scenarios"
    assert mirror_of("tools/stages.py") == "tests/tools/test_stages.py"
    assert mirror_of("fakebroker/testing/handles/users.py") == "tests/testing/handles/test_users.py"
    assert mirror_of("Makefile") is None


def test_a_helper_has_the_tests_that_import_it() -> None:
    """They are all that a change of it may break; those of Spark and browsers have targets of their own."""
    assert users_of("tests/support/serving.py") != []
    assert "tests/cli/http/test_serving.py" in chosen(["tests/support/serving.py"])
    assert [test for test in chosen(["tests/support/serving.py"]) if test.startswith("tests/page")] == []
    assert chosen(["tests/support/groups.py"])[: len(CORE)] == list(CORE)


def test_nothing_is_run_twice() -> None:
    """What is part of the core, or is gone, is not added."""
    paths = [
        "fakebroker/broker/core/topics.py",
        "tests/serve/sim/test_nodes.py",
        "fakebroker/serve/sim/nodes.py",
        "tests/test_gone.py",
    ]

    assert chosen(paths)[len(CORE) :] == ["tests/serve/sim/test_nodes.py"]
