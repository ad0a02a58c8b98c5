"""What the site makes of the text of a page: navigation, links out of docs, pictures in both themes, drawings."""

import pytest

from tools.site.extension import DOCS, INDEXES, prepared, summary, toctrees

URL = "https://git.example/fakebroker"


def test_the_lists_of_an_index_are_the_navigation() -> None:
    """Each section with links has a table of contents with its title; links to other sites are not in it."""
    text = "# All\n\n## How-to\n\n- [A](how-to/a.md): does a.\n- [B](https://b.example)\n\n## Empty\n\nNothing.\n"

    assert toctrees(text) == "\n\n```{toctree}\n:hidden:\n:caption: How-to\n\nhow-to/a.md\n```\n"


@pytest.mark.parametrize("name", INDEXES)
def test_every_index_has_navigation(name: str) -> None:
    """The rules are in a table, the others in lists."""
    assert toctrees((DOCS / f"{name}.md").read_text()).count(".md") > 5


@pytest.mark.parametrize(
    ("link", "with_url", "without"),
    [
        ("[test](../../Makefile)", f"[test]({URL}/blob/main/Makefile)", "`test`"),
        ("[`make`](../../Makefile#L1)", f"[`make`]({URL}/blob/main/Makefile#L1)", "`make`"),
        ("[time](../explanation/time.md#now)",) * 3,
        ("[Kafka](https://kafka.apache.org)",) * 3,
        ("a[0](x)",) * 3,
    ],
)
def test_links_out_of_docs(link: str, with_url: str, without: str) -> None:
    """They lead to the repository; without one, their text is code. Others stay."""
    assert prepared("how-to/faults", link, URL) == with_url
    assert prepared("how-to/faults", link, None) == without


def test_pictures_follow_the_theme() -> None:
    """A picture with a dark sister has both; one without stays alone."""
    both = prepared("how-to/page", "![Groups](../pictures/groups-light.png)", None)
    alone = "![Why](../pictures/why-1-light.png)"

    assert both == (
        "![Groups](../pictures/groups-light.png){.only-light} ![Groups](../pictures/groups-dark.png){.only-dark}"
    )
    assert prepared("how-to/page", alone, None) == alone


def test_drawings_are_part_of_the_page() -> None:
    """So that the theme gives them its colours."""
    text = prepared("reference/transaction-states", "![States](../pictures/states/transactional-id.svg)", None)

    assert text.startswith('```{raw} html\n<div class="drawing">\n<svg ')
    assert text.endswith("</svg>\n</div>\n```")


def test_results_of_a_search_show_how_pages_begin() -> None:
    """The first paragraph as plain words, cut between two of them; none if the page begins with a table."""
    assert summary("# Time\n<!-- Generated. -->\n\nA broker reads [two\nclocks](a.md), `now`.\n\nMore.") == (
        "A broker reads two clocks, now."
    )
    assert summary("# Time\n\n" + "word " * 100).endswith("word ...")
    assert summary("# Time\n\n| a | b |\n|---|---|\n") == ""
