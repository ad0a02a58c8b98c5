"""What a Python developer tries: timedeltas, dicts, iteration, and a repr that says something."""

import re
from datetime import UTC, datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Annotated, Literal, get_origin

import pytest

import fakebroker
from fakebroker import AsyncFakeBroker, FakeBroker, VirtualBroker, types


def test_the_clock_takes_timedeltas() -> None:
    """In place of numbers with units, forwards and backwards."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    with VirtualBroker() as broker:
        broker.clock.set(start)
        broker.clock.advance(timedelta(days=8, milliseconds=5))
        assert broker.clock.now == start + timedelta(days=8, milliseconds=5)
        broker.clock.step_back(timedelta(days=8))
        assert broker.clock.now == start + timedelta(milliseconds=5)


def test_headers_may_be_a_dict() -> None:
    """As in confluent-kafka."""
    with VirtualBroker() as broker:
        orders = broker.create_topic("orders")
        orders.produce("x", headers={"a": "b", "c": None})
        assert [tuple(header) for header in orders.records()[0].headers] == [("a", b"b"), ("c", None)]


def test_a_journal_is_iterable() -> None:
    """Requests and events, as they happened."""
    with VirtualBroker() as broker:
        broker.client("a").request("ApiVersions", 3)
        entries = list(broker.journal)
        assert len(entries) == len(broker.journal)
        assert [each.api for each in entries if isinstance(each, types.Exchange)] == ["ApiVersions"]


def test_a_broker_says_what_it_is() -> None:
    """Its address and nodes, or that it was not started."""
    broker = FakeBroker(nodes=3)
    assert repr(broker) == "<FakeBroker not started>"
    with broker:
        assert re.fullmatch(r"<FakeBroker 127.0.0.1:\d+(,127.0.0.1:\d+){2}, 3 nodes>", repr(broker))
    assert repr(broker).endswith(", 3 nodes, stopped>")
    with FakeBroker() as one:
        assert repr(one) == f"<FakeBroker {one.bootstrap}, 1 node>"


def test_the_version_is_known() -> None:
    """It is that of the installed package."""
    assert re.match(r"\d+\.\d+", fakebroker.__version__)


@pytest.mark.parametrize("name", types.__all__)
def test_types_are_importable_by_a_public_name(name: str) -> None:
    """For annotations."""
    found = getattr(types, name)
    assert isinstance(found, type) or get_origin(found) in (Literal, Annotated)


PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "python-api.md").read_text()
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S))
OF_ALL_BROKERS = ("FakeBroker", "BrokerControl")
ALSO_IN = {"FakeBroker": OF_ALL_BROKERS, "AsyncFakeBroker": OF_ALL_BROKERS, "VirtualBroker": OF_ALL_BROKERS,
           "ScriptedClient": ("ClientSteps",), "TransactionCoordinatorHandle": ("CoordinatorHandle",)}  # fmt: skip
"""Sections that have the rest of a class."""
CLASSES = [
    found
    for module in (fakebroker, types)
    for name in module.__all__
    if isinstance(found := getattr(module, name), type) and not issubclass(found, BaseException | Enum | str)
]


def documented_in(section: str) -> set[str]:
    """The names of methods, of fields, and of attributes that a docstring names."""
    text = SECTIONS[section]
    return {*re.findall(r"^(?:### |- )`(?:await )?(\w+)", text, re.M), *re.findall(r"`(\w+)`", text)}


@pytest.mark.parametrize("public_class", CLASSES)
def test_what_is_public_is_documented(public_class: type) -> None:
    """Every public name of a public class has its entry in python-api.md; all others have an underscore."""
    own = public_class.__name__
    documented = {name for section in (own, *ALSO_IN.get(own, ())) for name in documented_in(section)}
    inherited = set(dir(tuple)) - set(getattr(public_class, "_fields", ()))
    public = {name for name in dir(public_class) if not name.startswith("_")}
    if issubclass(public_class, tuple):
        public -= inherited

    assert public - documented == set()


@pytest.mark.parametrize("broker_class", [FakeBroker, AsyncFakeBroker, VirtualBroker])
def test_what_is_inside_of_a_broker_is_private(broker_class: type) -> None:
    """A test would depend on how the broker is made."""
    assert {"engine", "server", "call", "broker_clock"} & {*dir(broker_class)} == set()
