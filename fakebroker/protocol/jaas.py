"""The options of a login module in `sasl.jaas.config`, as Kafka reads them."""

import re

# A name begins where no other character of one is before it, and nothing is tried twice: a client may set a text of
# a megabyte, which is read at each login.
_BLANK = r"\x00-\x20"  # and no other blank of Unicode: in Java they are letters of a name


def _quoted(quote: str, name: str) -> str:
    """A text in quotes, which end with the line at the latest. What an escape stands for may be the line's end."""
    return rf"{quote}(?P<{name}>(?:[^{quote}\\\r\n]|\\(?s:.))*+)[{quote}\r\n]"


_OPTION = re.compile(
    r"/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z)|/[^\r\n]*+|"  # remarks: what stands in them is no option
    rf"""(?<![^{_BLANK}="/;])(?P<name>[^{_BLANK}="/;]++)[{_BLANK}]*+=[{_BLANK}]*+"""
    rf"""(?:{_quoted('"', "double")}|{_quoted("'", "single")}|(?P<plain>[^{_BLANK};"'/]++))"""
)
_ESCAPE = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|(?s:.))")
_CONTROLS = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))


def jaas_options(config: str) -> dict[str, str]:
    """The options by name: `username="alice" password="secret"`."""
    found = {}
    for option in _OPTION.finditer(config):
        name, double, single, plain = option.groups()
        quoted = single if double is None else double
        if name is not None:
            found[name] = plain if quoted is None else _ESCAPE.sub(_escaped, quoted)
    return found


def _escaped(found: re.Match[str]) -> str:
    """What an escape stands for in Java's StreamTokenizer: a character by its octal number, or one by a letter."""
    text = found[1]
    return chr(int(text, 8)) if text[0] in "01234567" else _CONTROLS.get(text, text)
