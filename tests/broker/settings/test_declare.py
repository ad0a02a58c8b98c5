"""Texts into values and back."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.settings.declare import (
    BOOLEAN,
    DOUBLE,
    INT,
    LIST,
    LONG,
    READ_ONLY,
    SHORT,
    STRING,
    Allowed,
    Form,
    OneOf,
    Range,
    Setting,
    parse,
    render,
    to_text,
)
from fakebroker.broker.settings.table import BROKER, CLIENT_METRICS, GROUP, TOPIC, TOPIC_BEFORE_4
from fakebroker.protocol.errors import SettingError

ALL = [row for table in (BROKER, TOPIC, TOPIC_BEFORE_4, GROUP, CLIENT_METRICS) for row in table.values()]


def setting(kind: int, valid: Allowed = None) -> Setting:
    return Setting("a.b", kind, None, valid, READ_ONLY, "for a test")


@pytest.mark.rules("IA-7")
@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (BOOLEAN, "TRUE", True),
        (BOOLEAN, " false ", False),
        (INT, " 77 ", 77),
        (INT, "-2147483648", -(2**31)),
        (SHORT, "32767", 32767),
        (LONG, "9223372036854775807", 2**63 - 1),
        (LONG, "\u0663", 3),  # Java's parseLong knows all digits of Unicode
        (DOUBLE, "0.25", 0.25),
        (DOUBLE, "+.5", 0.5),
        (DOUBLE, "5.e-1f", 0.5),
        (STRING, "ä" * 16_383, "ä" * 16_383),
        (LIST, "", ()),
        (LIST, " delete , compact ", ("delete", "compact")),
        (LIST, "compact,compact", ("compact",)),
        (STRING, "  gzip", "gzip"),
    ],
)
def test_good_texts(kind: int, text: str, value: object) -> None:
    """Blanks around do not count, booleans know no case, lists know no doubles."""
    assert parse(setting(kind), text) == value


@pytest.mark.rules("IA-6", "IA-7", "NT-6")
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (BOOLEAN, "yes"),
        (BOOLEAN, ""),
        (INT, "abc"),
        (INT, "2147483648"),
        (INT, "0x10"),
        (INT, "1_000"),
        (INT, "1.5"),
        (INT, "\u00a05"),
        (SHORT, "32768"),
        (LONG, "9223372036854775808"),
        (LONG, ""),
        (DOUBLE, "half"),
        (DOUBLE, "\u0660.\u0665"),
        (DOUBLE, "1_0.5"),
        (DOUBLE, "inf"),
        (DOUBLE, "0.5\u2003"),
        (LIST, "delete,,compact"),
        (STRING, "x" * 32768),
        (STRING, "ä" * 16_384),
        (LIST, "ä" * 16_384),
    ],
)
def test_bad_texts(kind: int, text: str) -> None:
    """A text of the wrong type is refused, and the message begins with the setting's name."""
    with pytest.raises(SettingError, match=r"^a\.b: "):
        parse(setting(kind), text)


@pytest.mark.parametrize(
    ("kind", "valid", "good", "bad"),
    [
        (INT, Range(1), "1", "0"),
        (INT, Range(1, 9, also=-1), "-1", "10"),
        (DOUBLE, Range(0, 1), "1", "1.5"),
        (DOUBLE, Range(0, 1), "0", "NaN"),
        (STRING, OneOf(("CreateTime",)), "CreateTime", "createtime"),
        (STRING, OneOf(("DISABLED",), any_case=True), "disabled", "off"),
        (LIST, OneOf(("compact", "delete")), "", "delete,bogus"),
        (LIST, OneOf(("uniform", "range"), needs_one=True), "range", ""),
        (LIST, Form(r"\*|\d+:\d+", "replicas"), "0:1,1:1", "0:1,x"),
        (LIST, Form(r"\*|\d+:\d+", "replicas"), "*", "\u0663:1"),
    ],
)
def test_bounds(kind: int, valid: Allowed, good: str, bad: str) -> None:
    """What is outside of the allowed values is refused, and the message says what is allowed."""
    parse(setting(kind, valid), good)
    with pytest.raises(SettingError, match=r"is not allowed; allowed: "):
        parse(setting(kind, valid), bad)


def test_defaults_are_allowed_values() -> None:
    """Every default, written down and read again, is itself."""
    for row in ALL:
        if row.default is not None:
            assert parse(row, render(row.default) or "") == row.default, row.name


@pytest.mark.rules("DC-4")
@given(
    st.sampled_from([INT, SHORT, LONG, DOUBLE, BOOLEAN, LIST]),
    st.integers(-(2**15), 2**15 - 1),
    st.floats(allow_nan=False),
    st.lists(st.text(string.ascii_letters, min_size=1), unique=True),
)
def test_rendered_values_parse_to_themselves(kind: int, number: int, fraction: float, items: list[str]) -> None:
    """parse(render(value)) is the value, for every type."""
    values: dict[int, bool | float | tuple[str, ...]] = {
        DOUBLE: fraction,
        BOOLEAN: bool(number % 2),
        LIST: tuple(items),
    }
    value = values.get(kind, number)
    text = render(value)
    assert text is not None
    assert parse(setting(kind), text) == value


@given(st.sampled_from(ALL), st.text(max_size=40))
def test_any_text_parses_or_is_refused(row: Setting, text: str) -> None:
    """Whatever a user writes is a value or a SettingError, nothing else."""
    try:
        value = parse(row, text)
    except SettingError:
        return
    assert render(parse(row, render(value) or "")) == render(value)


def test_values_of_python_and_yaml() -> None:
    """True is "true", a list is joined by commas, the rest is its text."""
    assert [to_text(value) for value in (True, 3, ["a", "b"], ("a",), "x", 0.5)] == [
        "true",
        "3",
        "a,b",
        "a",
        "x",
        "0.5",
    ]


def test_doubles_look_as_in_java() -> None:
    """Large numbers have Java's exponent."""
    assert render(1.7976931348623157e308) == "1.7976931348623157E308"
    assert render(1e-7) == "1.0E-7"
    assert render(0.5) == "0.5"
