"""Names that come from clients, as they may stand in a log line."""

NAME_CHARACTERS = 200
LINE_CHARACTERS = 2_000


def printable(text: str, max_characters: int = NAME_CHARACTERS) -> str:
    """`text` on one line: control and other invisible characters as Python writes them (\\n, \\x1b), cut when too long.

    What follows the cut is counted: "aaaa... (32,000 characters)".
    """
    shown = text[:max_characters]
    if not shown.isprintable():
        shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in shown)
    return shown if len(text) <= max_characters else f"{shown}... ({len(text):,} characters)"
