"""docs/how-to/dialects.md: what it says to try works."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[4] / "docs" / "how-to" / "dialects.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)


@pytest.mark.rules("DR-1", "DR-3", "DR-13")
@pytest.mark.parametrize("source", EXAMPLES)
def test_the_examples_run(source: str) -> None:
    """Each example runs over TCP as it stands there."""
    exec(compile(source, str(PAGE), "exec"), {})
