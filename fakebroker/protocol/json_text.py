"""JSON of files that users give us, which may have been made by anybody."""

import json
from typing import Any


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text. Raises ValueError saying what is wrong, also of one that is nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
