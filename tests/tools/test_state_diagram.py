"""Drawings of state machines: every state and every text of the table is in them, and a layout cannot drift from it."""

import xml.etree.ElementTree as ET

import pytest

from tools.diagrams import DIAGRAMS
from tools.state_diagram import START, Arrow, Layout, Position, Route, gathered, state_diagram

SVG = "{http://www.w3.org/2000/svg}"
ARROWS = [Arrow(START, "Empty"), Arrow("Empty", "Stable", "a < b"), Arrow("Stable", "Stable", "again")]
PLACES = {START: Position(0, 0), "Empty": Position(1, 0), "Stable": Position(2, 0)}


def words(svg: str) -> list[str]:
    """The texts of a drawing, in order."""
    return ["".join(text.itertext()) for text in ET.fromstring(svg).iter(f"{SVG}text")]


def test_states_and_reasons_are_drawn() -> None:
    """Each state has its name, each arrow its text, and what is special in XML is escaped."""
    assert words(state_diagram("A thing", ARROWS, Layout(PLACES))) == ["Empty", "Stable", "a < b", "again"]


def test_reasons_for_the_same_way_share_an_arrow() -> None:
    """Their texts stand below each other, with a semicolon between them."""
    svg = state_diagram("A thing", [*ARROWS, Arrow("Empty", "Stable", "loaded")], Layout(PLACES))

    assert "a < b;loaded" in words(svg)
    assert svg.count("marker-end") == len(ARROWS)


@pytest.mark.parametrize(
    ("layout", "why"),
    [
        (Layout({START: Position(0, 0), "Empty": Position(1, 0)}), "differ: .*Stable"),
        (Layout({**PLACES, "Dead": Position(3, 0)}), "differ: .*Dead"),
        (Layout(PLACES, {("Stable", "Empty"): Route(1)}), "no arrow takes these routes"),
    ],
)
def test_a_layout_that_does_not_fit_the_table_is_refused(layout: Layout, why: str) -> None:
    """A new state needs a place, and one that is gone leaves none behind."""
    with pytest.raises(ValueError, match=why):
        state_diagram("A thing", ARROWS, layout)


def test_arrows_with_one_reason_are_gathered() -> None:
    """What happens in several states is one arrow from a box that names them."""
    arrows = [Arrow("Empty", "Dead", "deleted"), Arrow("Stable", "Dead", "deleted"), Arrow("Stable", "Dead", "expired")]

    assert gathered(arrows, "Dead", "deleted", "any state") == [arrows[2], Arrow("any state", "Dead", "deleted")]


def test_nothing_is_outside_of_a_drawing() -> None:
    """The frame holds every box of every drawing of docs."""
    for name, draw in DIAGRAMS.items():
        root = ET.fromstring(draw())
        left, top, width, height = map(float, root.attrib["viewBox"].split())
        for box in root.iter(f"{SVG}rect"):
            x, y, w, h = (float(box.attrib[key]) for key in ("x", "y", "width", "height"))
            assert left <= x <= x + w <= left + width, name
            assert top <= y <= y + h <= top + height, name
