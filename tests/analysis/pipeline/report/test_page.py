"""The report's page: what is in it, that it needs nothing else, and that names cannot break it."""

from html.parser import HTMLParser
from pathlib import Path

import pytest

from fakebroker.analysis.pipeline.report import page as page_module
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
        self.size = len(page.encode())
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
        "transactions",
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


def test_the_page_is_small(page: Parsed) -> None:
    """It can be sent by e-mail: charts are drawn, and no library draws them."""
    assert page.size < 100_000
    assert len(page.scripts) == 1


def test_names_cannot_become_tags(page: Parsed) -> None:
    """A group named like a script is text, in tables and in the data of figures."""
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert "<script>alert('x')</script>" in page.text
    assert "bill<b>ing & " in page.text
    assert not [a for tag, a in page.tags if tag == "b" and "class" not in a and a]


def test_a_chart_has_words(page: Parsed) -> None:
    """Every chart has a description for who does not see it, and its numbers as a table."""
    plots = [attributes for tag, attributes in page.tags if attributes.get("class") == "plot"]
    tags = [tag for tag, _ in page.tags]

    assert all(each["role"] == "img" and each["aria-label"] for each in plots)
    assert tags.count("svg") == tags.count("details") == len(plots) == 7


def test_charts_leave_colours_to_the_theme(page: Parsed) -> None:
    """No chart brings a colour of its own, and the page has each class that charts have."""
    drawn = [
        (tag, attributes) for tag, attributes in page.tags if tag in ("rect", "circle", "polyline", "polygon", "i")
    ]
    style = (Path(page_module.__file__).parent / "page.css").read_text()

    assert drawn
    for tag, attributes in drawn:
        assert not {"style", "fill", "stroke"} & set(attributes), tag
        assert f".{attributes['class']} {{" in style


def test_empty_tables_say_so(tmp_path: Path) -> None:
    """A table without rows is a sentence, not an empty plot; nothing is drawn."""
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
    assert "svg" not in {tag for tag, _ in page.tags}


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

    shown = [attributes["class"] for tag, attributes in page.tags if tag == "polyline"]
    assert shown == 2 * ["c0", "c1", "c2", "c3", "c4", "c5", "others"]
    assert "493 other groups" in page.text
    assert "470 other groups were never more than 469 behind" in page.text


def test_a_moment_is_no_axis_of_time(tmp_path: Path) -> None:
    """What happened within one step is a sentence or a table, with the time, and no chart with a single bar."""
    tables = {
        "lag_minute": rows("lag_minute", {"group_id": "g", "minute_at": 60_000, "committed_offset": 1, "lag": 3}),
        "rebalances": rows("rebalances", {"group_id": "g", "began_at": 60_000, "cause": "member joined"}),
        "expiries": rows("expiries", {"group_id": "g", "topic": "t", "rule": "EX-3", "expired_at": 61_250}),
    }
    page = Parsed(page_of(make_report(Tables([publish(tmp_path / "tables", tables)]))))

    assert "svg" not in {tag for tag, _ in page.tags}
    assert "1 rebalance began within 100 ms from 1970-01-01 00:01:00.000 on (UTC)." in page.text
    assert "by the rule that decided: all within 100 ms from 1970-01-01 00:01:01.200 on (UTC)" in page.text
    assert "max lag (records)" in page.text
