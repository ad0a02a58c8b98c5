"""Texts as Java reads them, where Python's methods go by more of Unicode: what is judged here is what Kafka judges.

`str.strip` takes away U+00A0, U+2003 and others, which Java's `String.trim` leaves: "\\u00a0admin" is not "admin".
"""

BLANKS = "".join(map(chr, range(33)))  # what Java's `trim` takes away


def trimmed(text: str) -> str:
    """A text without the blanks at its ends, as by `String.trim`."""
    return text.strip(BLANKS)
