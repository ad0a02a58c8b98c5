"""YAML as nodes: what plain values mean, where they stand, and what is refused."""

import time

import pytest

from fakebroker.scenarios.errors import ScenarioError
from fakebroker.scenarios.language.kinds import plain
from fakebroker.scenarios.language.yaml_file import MAX_BYTES, MAX_DEPTH, MAX_NODES, Scalar, Table, parse_yaml


def value_of(text: str) -> object:
    return plain(parse_yaml(text, "f.yaml"))


def error_of(data: str | bytes) -> str:
    with pytest.raises(ScenarioError) as caught:
        parse_yaml(data, "f.yaml")
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"), ("on", "on"), ("yes", "yes"), ("1:30", "1:30"), ("1_000", "1_000"), ("2026-01-01", "2026-01-01"),
        ("010", 10), ("0o17", 15), ("0x1F", 31), ("-3", -3), ("+4", 4), ("1.5", 1.5), ("1e3", 1000.0), (".5", 0.5),
        ("true", True), ("False", False), ("null", None), ("~", None), ("", None), ('"3"', "3"), ("'true'", "true"),
        ("!!str 3", "3"), ("!!int 3", 3), ("!!float 3", 3), ("! 3", "3"), ("orders-0", "orders-0"), ("4.3", 4.3),
        ("3d", "3d"), ("=", "="), ("<<", "<<"),
    ],
)  # fmt: skip
def test_plain_values_are_those_of_yaml_1_2(text: str, value: object) -> None:
    """A plain scalar means what the core schema of YAML 1.2 says, not what YAML 1.1 did."""
    found = value_of(f"a: {text}")

    assert found == {"a": value}
    assert type(found["a"]) is type(value)


def test_infinity_and_no_number_are_numbers() -> None:
    """They are read as YAML says; the kinds of values refuse them."""
    assert str(value_of("[.inf, -.inf, .nan]")) == "[inf, -inf, nan]"


def test_every_value_and_key_has_its_line() -> None:
    """Places are those of the file, in block and in flow style."""
    node = parse_yaml("a: 1\nb:\n  - {c: 2,\n     d: 3}\n", "f.yaml")

    assert isinstance(node, Table)
    assert [str(node.keys[key].place) for key in ("a", "b")] == ["f.yaml:1", "f.yaml:2"]
    inner = node.entries["b"].items[0]  # type: ignore[attr-defined]
    assert [inner.entries[key].place.line for key in ("c", "d")] == [3, 4]


def test_aliases_are_copies() -> None:
    """An alias stands for the value of its anchor."""
    assert value_of("a: &x [1, {b: 2}]\nc: *x\n") == {"a": [1, {"b": 2}], "c": [1, {"b": 2}]}
    assert value_of("d: &y 3\ne: *y\n") == {"d": 3, "e": 3}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a: 1\na: 2", "f.yaml:2: a: the key is a duplicate of the one in line 1"),
        ("a: *x", "f.yaml:1: *x has no anchor"),
        ("a: &x [*x]", "f.yaml:1: *x is an alias of a value that contains it"),
        ("? [1]\n: 2", "f.yaml:1: a key is a list or mapping; keys must be strings"),
        ("a: 1\n---\nb: 2", "f.yaml:2: a second document begins here; a file is one scenario"),
        ("a: !!python/object/apply:os.system [x]", "f.yaml:1: the tag tag:yaml.org,2002:python/object/apply:os.system"),
        ("a: !own 3", "f.yaml:1: the tag !own is not of YAML's core schema"),
        ("a: !!int x", "f.yaml:1: 'x' does not match its tag, int"),
        ("a: !!binary aGk=", "f.yaml:1: the tag tag:yaml.org,2002:binary is not of YAML's core schema"),
        ("a: !!set {x}", "f.yaml:1: the tag tag:yaml.org,2002:set is not of YAML's core schema"),
        ("a:\n\t- 1", "f.yaml:2: this is not YAML: found character"),
        ("a: [1", "f.yaml:1: this is not YAML"),
        ("- a: b, c: d", "put { } around a step of several keys in one line"),
        ("x: {a: join ${group}}", 'inside { } and [ ] put a parameter in quotes: "${name}"'),
        ("a: " + "9" * 50, "a number of 50 digits"),
        ("", "f.yaml:1: the file is empty"),
        ("  \n\n", "f.yaml:1: the file is empty"),
        ("# a remark\n", "f.yaml:1: the file is empty"),
        ("a: 1\nb: \x07", "f.yaml:2: the file has a character that YAML does not allow"),
    ],
)  # fmt: skip
def test_what_is_refused_is_named_with_its_line(text: str, error: str) -> None:
    """Each of these is no scenario, and the error says where and why."""
    assert error in error_of(text)


def test_tabs_have_a_hint() -> None:
    """Indentation with tabs is an error."""
    assert "indent with spaces, not with tabs" in error_of("a:\n\t- 1")


@pytest.mark.parametrize(
    ("data", "line"), [(b"a: 1\nb: \xff\xfe", 2), (bytes(range(256)), 2), (b"\x1f\x8b\x08\x00" * 9, 1)]
)
def test_what_is_no_text_is_refused(data: bytes, line: int) -> None:
    """Binary data are no YAML."""
    assert error_of(data).startswith(f"f.yaml:{line}: ")


def test_a_mark_of_the_byte_order_is_no_key() -> None:
    """Editors of Windows write one before the text."""
    assert plain(parse_yaml(b"\xef\xbb\xbfa: 1", "f.yaml")) == {"a": 1}


def test_a_huge_file_is_refused_unread() -> None:
    """The limit is on its bytes."""
    assert error_of("a" * (MAX_BYTES + 1)) == f"f.yaml:1: the file is larger than the limit of {MAX_BYTES} bytes"


def test_a_bomb_of_aliases_is_refused_at_once() -> None:
    """A billion laughs are not written out."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 20)]
    began = time.perf_counter()

    assert f"more than {MAX_NODES} values, including those repeated by aliases" in error_of("\n".join(lines))
    assert time.perf_counter() - began < 1


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_deep_nesting_is_refused(opening: str) -> None:
    """However deep, it ends with an error that says so."""
    assert "nested" in error_of(opening * (MAX_DEPTH + 1) + "1") or "no YAML" in error_of(opening * 50_000)
    assert "nested more than" in error_of("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))


def test_quotes_are_remembered() -> None:
    """Whether a scalar is plain is known, for parameters in it."""
    node = parse_yaml("[a, 'a']", "f.yaml")

    assert [each.is_plain for each in node.items if isinstance(each, Scalar)] == [True, False]  # type: ignore[attr-defined]
