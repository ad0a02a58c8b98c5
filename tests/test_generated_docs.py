"""The generated pages of docs/ say what the declarations say."""

import pytest

from tests.tools.generate_docs import DOCS, PAGES


@pytest.mark.parametrize("name", PAGES)
def test_page_is_up_to_date(name: str) -> None:
    """The page is what `make docs` would write now."""
    assert (DOCS / name).read_text() == PAGES[name](), "run `make docs`"
