r"""Patterns in the syntax of RE2, as Kafka takes them from clients (KIP-848, KIP-1152), for Python's `re`.

Both read most patterns alike. RE2 has texts between `\Q` and `\E`, and `\z` for the end; it has no back references and
looks neither ahead nor behind. What Python cannot read is refused, classes such as `\pL` too.
"""

import re
from typing import Final

_QUOTED: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\Q(.*?)(?:\\E|$)", re.DOTALL)
_NOT_IN_RE2: Final = re.compile(r"(?<!\\)(?:\\\\)*(?:\\[1-9]|\(\?(?:[=!>#(]|<[=!]|P[=>])|[*+?}]\+)")


class InvalidPattern(Exception):
    """A text is no regular expression of RE2."""


def compile_pattern(text: str) -> re.Pattern[str]:
    """The pattern of a text. Raises InvalidPattern; a pattern must match a whole name (`fullmatch`)."""
    pattern = _QUOTED.sub(lambda found: found[1] + re.escape(found[2]), text)
    if _NOT_IN_RE2.search(pattern):
        raise InvalidPattern(text)
    try:
        return re.compile(pattern.replace(r"\z", r"\Z"))
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidPattern(text) from error
