"""Who a client is by the name in its certificate: the setting `ssl.principal.mapping.rules` (KIP-371).

Rules stand in a list, and the first that applies counts: `DEFAULT` takes the whole name, `RULE:pattern/replacement/`
what the pattern makes of it; an L or a U at the end makes the result lower or upper case.
"""

import re
from typing import NamedTuple

from fakebroker.errors import FakebrokerError, SettingError

SETTING = "ssl.principal.mapping.rules"
_DEFAULT = "DEFAULT"
_RULE = "RULE:"


class NoRuleApplies(FakebrokerError):
    """No rule applies to the name in a client's certificate: its connection closes."""


class Rule(NamedTuple):
    """One rule. `pattern` has to match a whole name; None is DEFAULT. `replacement` is in the form of Python's re."""

    pattern: re.Pattern[str] | None
    replacement: str = ""
    letters: str = ""

    def apply(self, name: str) -> str | None:
        """What the rule makes of a name, None if it does not apply."""
        if self.pattern is None:
            return name
        if not self.pattern.fullmatch(name):
            return None
        result = self.pattern.sub(self.replacement, name)
        return {"L": str.lower, "U": str.upper}.get(self.letters, str)(result)


class PrincipalMapping:
    """The rules of a listener, in their order."""

    def __init__(self, text: str) -> None:
        """`text` is the value of the setting. Raises SettingError, which names what is wrong."""
        self._rules = [_rule(part) for part in _split(text.strip() or _DEFAULT) if part]
        self._text = text

    def name_of(self, distinguished_name: str) -> str:
        """The name of the principal whose certificate has this name. Raises NoRuleApplies."""
        for rule in self._rules:
            name = rule.apply(distinguished_name)
            if name is not None:
                return name
        raise NoRuleApplies(f"no rule of {SETTING} applies to the certificate of {distinguished_name}: {self._text}")


def _split(text: str) -> list[str]:
    """The rules one by one: commas separate them, but for those inside of a pattern or replacement."""
    parts, rest = [], text
    while rest:
        rest = rest.lstrip()
        end = _end_of_rule(rest)
        parts.append(rest[:end].rstrip())
        rest = rest[end:].lstrip()
        if rest and rest[0] != ",":
            raise _wrong(text, f"{rest!r} follows a rule without a comma")
        rest = rest[1:]
    return parts


def _end_of_rule(text: str) -> int:
    """Where the rule ends that the text begins with."""
    if not text.startswith(_RULE):
        comma = text.find(",")
        return len(text) if comma < 0 else comma
    position, slashes = len(_RULE), 0
    while slashes < 2:
        if position >= len(text):
            raise _wrong(text, f"a rule is {_RULE}pattern/replacement/ with an L or a U after it, or without")
        slashes += text[position] == "/"
        position += 2 if text[position] == "\\" else 1
    return position + (text[position : position + 1] in ("L", "U"))


def _rule(text: str) -> Rule:
    if text == _DEFAULT:
        return Rule(None)
    if not text.startswith(_RULE):
        raise _wrong(text, f"a rule is {_DEFAULT} or begins with {_RULE}")
    pattern, replacement, letters = re.split(r"(?<!\\)/", text.removeprefix(_RULE), maxsplit=2)
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise _wrong(text, f"its pattern is none: {error}") from None
    return Rule(compiled, _python_replacement(replacement, compiled.groups), letters)


def _python_replacement(replacement: str, groups: int) -> str:
    """A replacement of Java, with `$1` for a group, in the form of Python's re; a `$` without a group is itself."""

    def of_group(found: re.Match[str]) -> str:
        digits = found[1]
        while digits and int(digits) > groups:
            digits = digits[:-1]
        return f"\\g<{digits}>{found[1][len(digits) :]}" if digits else found[0]

    literal = replacement.replace("\\", "\\\\")
    return re.sub(r"\$([0-9]+)", of_group, literal)


def _wrong(text: str, problem: str) -> SettingError:
    return SettingError(f"{SETTING}: {text!r}: {problem}")
