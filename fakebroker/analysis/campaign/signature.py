"""What failures that are alike have in common: their text without what differs from run to run."""

import re
from typing import Final

LONGEST: Final = 400  # characters of a signature

# In this order: an id may have digits that look like a time, an address ends in a port.
_VARYING: Final = (
    (re.compile(r"(?:[\w.:/]+-)*?[\w.:/]*-?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE), "<id>"),
    # A topic id as Kafka prints it: 16 bytes in base64.
    (re.compile(r"(?<![\w-])(?=[\w-]*[0-9])(?=[\w-]*[a-z])(?=[\w-]*[A-Z])[\w-]{22}(?![\w-])"), "<id>"),
    (re.compile(r"\b0x[0-9a-fA-F]{6,}\b"), "<address>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"[+-](?:\d+d )?\d\d:\d\d:\d\d\.\d{3}\b"), "<time>"),
    (re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?\b"), "<address>"),
    (re.compile(r"\[[0-9a-fA-F:]*:[0-9a-fA-F:]*\](?::\d{1,5})?"), "<address>"),
    (re.compile(r"\b(?:localhost|[A-Za-z][\w-]*(?:\.[\w-]+)*\.[A-Za-z]{2,}):\d{1,5}\b"), "<address>"),
    (re.compile(r"\bport (\d{1,5})\b"), "port <port>"),
    (re.compile(r"\b1\d{12}\b"), "<time>"),  # milliseconds since the epoch
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|milliseconds|s|seconds|minutes|hours|days)\b"), "<time>"),
)


def signature_of(text: str) -> str:
    """The text on one line, with placeholders for ids, addresses, ports and times; LONGEST characters at most."""
    for pattern, name in _VARYING:
        text = pattern.sub(name, text)
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
