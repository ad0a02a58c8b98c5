"""Charts: a shape for each number, in its place and with its words."""

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from fakebroker.analysis.pipeline.report.charts.bars import Series, ranked_bars, time_bars
from fakebroker.analysis.pipeline.report.charts.curves import curves
from fakebroker.analysis.pipeline.report.charts.heat_map import LEVELS, Cell, heat_map, level_of
from fakebroker.analysis.pipeline.report.charts.svg import WIDTH, shortened

START_MS = 1_767_225_600_000


def shapes(chart: str, tag: str) -> list[ElementTree.Element]:
    """The elements of a chart with this tag."""
    return list(ElementTree.fromstring(chart[chart.index("<svg") :]).iter(tag))


def place(shape: ElementTree.Element) -> tuple[float, float, float, float]:
    """Left, top, width and height."""
    x, y, width, height = (float(shape.attrib[each]) for each in ("x", "y", "width", "height"))
    return x, y, width, height


def test_bars_are_stacked_and_in_their_order() -> None:
    """Bars of later bins are further right; two of a bin lie on each other; heights are as the values."""
    series = [Series("c0", "joined", [2, 0, 4]), Series("c1", "left", [1, 3, 0])]

    first, above, second, third = (
        place(each)
        for each in shapes(time_bars([START_MS, START_MS + 1000, START_MS + 5000], 1000, series, "rebalances"), "rect")
    )

    assert first[0] == above[0] < second[0] < third[0]
    assert abs(above[1] + above[3] - first[1]) < 0.2
    assert abs(third[3] - 2 * first[3]) < 0.2
    assert first[2] < WIDTH / 10, "an axis has room for more bins than there are"


def test_a_bar_says_what_it_is() -> None:
    """A pointer over it shows series, number, unit and time."""
    (bar,) = shapes(time_bars([START_MS], 1000, [Series("c0", "joined", [2])], "rebalances"), "rect")

    assert bar[0].text == "joined: 2 rebalances, 2026-01-01 00:00:00"


def test_shares_fill_the_axis() -> None:
    """Bars of shares are equally long, whatever their totals."""
    chart = ranked_bars(
        ["a", "b"], [Series("c2", "passed", [1, 30]), Series("c3", "failed", [1, 10])], "runs", as_shares=True
    )

    bars = list(map(place, shapes(chart, "rect")))
    assert abs((bars[0][2] + bars[1][2]) - (bars[2][2] + bars[3][2])) < 0.2
    assert abs(bars[0][2] - bars[1][2]) < 0.2
    assert abs(bars[2][2] - 3 * bars[3][2]) < 0.4


def test_cells_without_a_value_are_not_drawn() -> None:
    """The others have the level of their value, and a mark where one is asked for."""
    chart = heat_map(
        ["g"], [[Cell(0, "none"), None, Cell(1000, "many", "1k", is_marked=True)]], [(0.5, ("0",))], "records"
    )

    assert [each.attrib["class"] for each in shapes(chart, "rect")] == ["h0", f"h{LEVELS}"]
    assert len(shapes(chart, "polygon")) == 1
    assert "0 records" in chart


@given(st.integers(1, 10**12), st.integers(0, 10**12))
def test_levels_follow_values(most: int, value: int) -> None:
    """0 alone has level 0, and a larger value never has a lower level."""
    value = min(value, most)

    assert (level_of(value, most) == 0) == (value == 0)
    assert level_of(value, most) <= level_of(most, most) == LEVELS


def test_a_single_retention_is_a_point() -> None:
    """Where there is one span there is no line to draw; where there are several they are apart by their logarithms."""
    (point,) = shapes(curves([1000], [Series("c0", "g", [3])], "offsets", "retention"), "circle")
    a, b, c = shapes(curves([1000, 10_000, 100_000], [Series("c0", "g", [3, 2, 0])], "offsets", "retention"), "circle")

    assert 0 < float(point.attrib["cx"]) < WIDTH
    assert abs(2 * float(b.attrib["cx"]) - float(a.attrib["cx"]) - float(c.attrib["cx"])) < 0.2
    assert a[0].text == "g, retention 1 s: 3 offsets"


@given(st.text())
def test_any_name_can_stand_beside_a_chart(name: str) -> None:
    """A chart with it is well-formed, and no name takes more room than others."""
    chart = ranked_bars([name], [Series("c0", name, [1])], "partitions")

    assert len(shapes(chart, "rect")) == 1
    assert len(shortened(name)) <= 34
