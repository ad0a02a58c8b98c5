"""The options of a login module in `sasl.jaas.config`, which Kafka reads with Java's StreamTokenizer (`JaasConfig`)."""

import re

_BLANK = r"\x00-\x20"  # and no other blank of Unicode: in Java they are letters of a name


def _quoted(quote: str, name: str) -> str:
    """A text in quotes, which end with the line at the latest. What an escape stands for may be the line's end."""
    return rf"{quote}(?P<{name}>(?:[^{quote}\\\r\n]|\\(?s:.)|\\\Z)*+)(?:[{quote}\r\n]|\Z)"


_DOUBLE, _SINGLE = _quoted('"', "double"), _quoted("'", "single")
# Whatever comes, something is taken and nothing is tried twice: a client may set a text of 32 KB, which is read at each
# login.
_TOKEN = re.compile(
    r"/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z)|/[^\r\n]*+"  # remarks
    rf"|{_DOUBLE}|{_SINGLE}|(?P<sign>[=;])|(?P<word>[^{_BLANK}=;/\"']++)"
)
_ESCAPE = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|(?s:.))")
_CONTROLS = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))


def jaas_options(config: str) -> dict[str, str]:
    """The options by name: `username="alice" password="secret"`.

    A text that Kafka refuses gives the options that can be read.
    """
    found = dict[str, str]()
    last: str | None = None  # the text before, which is a name if "=" comes next
    name: str | None = None  # the text before an "="
    for token in _TOKEN.finditer(config):
        kind = token.lastgroup
        if kind == "sign":
            name, last = (last if token["sign"] == "=" else None), None
        elif kind is not None:  # else it is a remark
            text = token[kind] if kind == "word" else _ESCAPE.sub(_escaped, token[kind])
            if name is None:
                last = text
            else:
                found[name] = text
                name = last = None
    return found


def _escaped(found: re.Match[str]) -> str:
    """What an escape stands for in Java's StreamTokenizer: a character by its octal number, or one by a letter."""
    text = found[1]
    return chr(int(text, 8)) if text[0] in "01234567" else _CONTROLS.get(text, text)
