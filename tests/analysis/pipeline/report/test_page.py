"""The report's page: what is in it, that it needs nothing else, and that names cannot break it."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from fakebroker.analysis.pipeline.report.page import page_of
from fakebroker.analysis.pipeline.report.report import make_report
from fakebroker.analysis.pipeline.report.tables import Tables
from tests.analysis.pipeline.report.small import publish, rows, small_tables

LOADING = {"src", "srcset", "action", "data", "poster", "background"}


class Parsed(HTMLParser):
    """What a page consists of: the tags with their attributes, and the text of each script and outside of them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self._inside = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._inside = tag
            self.scripts += [""] if tag == "script" else []

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif not self._inside:
            self.text += data

    @property
    def figures(self) -> list[dict[str, Any]]:
        """The figures that the page's script draws."""
        found = re.match(r"const figures = (.*);\n", self.scripts[-1])
        assert found is not None
        made: list[dict[str, Any]] = json.loads(found[1])
        return made


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Parsed:
    """The page of the small tables."""
    folder = publish(tmp_path_factory.mktemp("report") / "tables", small_tables("bill<b>ing & \u2028co"))
    return Parsed(page_of(make_report(Tables([folder]))))


def test_every_section_is_there_and_linked(page: Parsed) -> None:
    """Each table has its section, and the links at the top lead to them."""
    sections = [attributes["id"] for tag, attributes in page.tags if tag == "section"]
    links = {attributes["href"] for tag, attributes in page.tags if tag == "a"}

    assert sections == [
        "first",
        "rebalances",
        "lag_minute",
        "expiries",
        "retention_whatif",
        "protocol_coverage",
        "group_health",
        "campaign_runs",
        "tables",
    ]
    assert {f"#{each}" for each in sections[1:]} == links


def test_the_page_needs_nothing_else(page: Parsed) -> None:
    """No tag names a resource, and a policy in the page forbids to load one."""
    named = [
        (tag, name, value) for tag, attributes in page.tags for name, value in attributes.items() if name in LOADING
    ]
    policies = [a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"]

    assert named == []
    assert "link" not in {tag for tag, _ in page.tags}
    assert policies == [policies[0]]
    assert policies[0] is not None
    assert policies[0].startswith("default-src 'none';")
    assert "http" not in policies[0]


def test_plotly_is_in_it_once(page: Parsed) -> None:
    """The library is in one script, and the page's own script and data in another."""
    assert [("Plotly, Inc." in each, len(each) > 1_000_000) for each in page.scripts] == [(True, True), (False, False)]


def test_names_cannot_become_tags(page: Parsed) -> None:
    """A group named like a script is text, in tables and in the data of figures."""
    assert [tag for tag, _ in page.tags].count("script") == 2
    assert "<script>alert('x')</script>" in page.text
    assert "bill<b>ing & " in page.text
    assert not [a for tag, a in page.tags if tag == "b" and "class" not in a and a]
    labels = json.dumps([figure["layout"] for figure in page.figures])
    assert "<script>" not in labels
    assert "&lt;script&gt;" in labels


def test_a_figure_has_a_place_with_words(page: Parsed) -> None:
    """Every figure has its element, with a description for who does not see it, and its numbers as a table."""
    plots = [attributes for tag, attributes in page.tags if attributes.get("class") == "plot"]

    assert [each["id"] for each in plots] == [f"plot{number}" for number in range(len(page.figures))]
    assert all(each["role"] == "img" and each["aria-label"] for each in plots)
    assert [tag for tag, _ in page.tags].count("details") == len(plots) == 8


def test_figures_leave_the_theme_to_the_page(page: Parsed) -> None:
    """No figure brings a template or a ground of its own; grounds and text are those of light or dark."""
    for figure in page.figures:
        assert "template" not in figure["layout"]
        assert not {"paper_bgcolor", "plot_bgcolor", "font"} & set(figure["layout"])


def test_empty_tables_say_so(tmp_path: Path) -> None:
    """A table without rows is a sentence, not an empty plot; there is nothing to draw, so no library either."""
    folder = publish(tmp_path / "tables", {name: [] for name in small_tables()})

    page = Parsed(page_of(make_report(Tables([folder]))))

    for sentence in (
        "No group rebalanced.",
        "No committed offset expired.",
        "No client sent a request.",
        "There were no groups.",
        "The campaign had no runs.",
        "Everything was read.",
        "Nothing stands out.",
    ):
        assert sentence in page.text
    assert page.figures == []
    assert len(page.scripts) == 1


@pytest.mark.parametrize("name", sorted(small_tables()))
def test_any_table_may_be_alone(tmp_path: Path, name: str) -> None:
    """Each table makes a page without the others."""
    folder = publish(tmp_path / "tables", {name: small_tables()[name]})

    page = Parsed(page_of(make_report(Tables([folder]))))

    assert "Tables, checks and rejects" in page.text


def test_many_groups_become_others(tmp_path: Path) -> None:
    """A plot has so many series as can be distinguished; what is left out is counted."""
    many = rows(
        "retention_whatif",
        *({"group_id": f"g{n:03}", "retention_ms": 1000, "lost_offsets": n, "lost_partitions": 1} for n in range(500)),
    )
    lags = rows(
        "lag_minute",
        *(
            {"group_id": f"g{n:03}", "topic": "t", "committed_offset": 1, "log_end_offset": n, "lag": n}
            for n in range(500)
        ),
    )
    folder = publish(tmp_path / "tables", {"retention_whatif": many, "lag_minute": lags})

    page = Parsed(page_of(make_report(Tables([folder]))))

    heat_map, curves, _ = page.figures
    assert len(heat_map["data"][0]["z"]) == 30
    assert [each["name"] for each in curves["data"]][-2:] == ["g494", "493 other groups"]
    assert "470 other groups were never more than 469 behind" in page.text


def test_a_single_minute_of_lag_is_as_wide_as_a_minute(tmp_path: Path) -> None:
    """Cells of the heat map are given by their edges, so that one alone has its width; a single bar has room."""
    tables = {
        "lag_minute": rows("lag_minute", {"group_id": "g", "minute_at": 60_000, "committed_offset": 1, "lag": 3}),
        "rebalances": rows("rebalances", {"group_id": "g", "began_at": 60_000, "cause": "member joined"}),
    }
    figures = Parsed(page_of(make_report(Tables([publish(tmp_path / "tables", tables)])))).figures

    lag = next(each for each in figures if each["data"][0]["type"] == "heatmap")
    assert [each[11:19] for each in lag["data"][0]["x"]] == ["00:01:00", "00:02:00"]
    bar = next(each for each in figures if each["data"][0]["type"] == "bar")
    first, last = bar["layout"]["xaxis"]["range"]
    assert (first[17:22], last[17:22]) == ("59.25", "00.85")
