"""The generated pages of docs/ say what the declarations say."""

from tools.generate_docs import DOCS, PAGES


def test_pages_are_up_to_date() -> None:
    """The pages are what `make docs` would write now."""
    assert [name for name, make in PAGES.items() if (DOCS / name).read_text() != make()] == [], "run `make docs`"
