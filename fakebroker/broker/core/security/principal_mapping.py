"""Who a client is by the name in its certificate: the setting `ssl.principal.mapping.rules` (KIP-371, KIP-492).

Rules stand in a list, and the first that applies counts: `DEFAULT` takes the whole name, `RULE:pattern/replacement/`
what the pattern makes of it; an L or a U at the end makes the result lower or upper case.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from fakebroker.protocol.errors import FakebrokerError, SettingError

SETTING = "ssl.principal.mapping.rules"
_DEFAULT = "DEFAULT"
_PART = r"((?:\\.|[^\\/])*)"  # of a rule: without a slash, unless a backslash stands before it
_RULE = re.compile(rf"RULE:{_PART}/{_PART}/([LU]?)")
_REFERENCE = re.compile(r"\\(.)|\$([0-9]+)|\$\{(\w+)\}|([\\$])", re.DOTALL)


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
        """`text` is the value of the setting. Raises SettingError, which names what is wrong.

        MOCK: a replacement that names a group which there is not closes every connection in Kafka. Here the broker does
        not start.
        """
        self._rules = list(_rules(text.strip()))
        self._text = text

    def name_of(self, distinguished_name: str) -> str:
        """The name of the principal whose certificate has this name. Raises NoRuleApplies."""
        for rule in self._rules:
            name = rule.apply(distinguished_name)
            if name is not None:
                return name
        raise NoRuleApplies(f"no rule of {SETTING} ({self._text}) applies to the certificate of {distinguished_name}")


def _rules(text: str) -> Iterator[Rule]:
    """The rules one by one. Commas separate them; one inside of a pattern or replacement does not."""
    rest = text
    while rest:
        found = _RULE.match(rest)
        head = "" if found is None else found[0]
        whole = head + rest[len(head) :].partition(",")[0].rstrip()
        rest = rest[len(whole) :].lstrip()[1:].lstrip()
        if found is not None:
            _check_end(whole, found[0])
            pattern, replacement, letters = found.groups()
            yield _rule(pattern, replacement, letters, whole)
        elif whole:
            _check_end(whole, _DEFAULT if whole.startswith(_DEFAULT) else "")
            yield Rule(None)


def _check_end(whole: str, known: str) -> None:
    """Raises SettingError for a rule that does not end where it should."""
    if whole != known:
        raise SettingError(f"{SETTING}: Invalid rule: `{whole}`, unmatched substring: `{whole.removeprefix(known)}`")


def _rule(pattern: str, replacement: str, letters: str, whole: str) -> Rule:
    try:
        compiled = re.compile(re.sub(r"\(\?<(?![=!])", "(?P<", pattern), re.ASCII)
    except re.error as error:
        raise SettingError(f"{SETTING}: Invalid rule: `{whole}`, its pattern cannot be read: {error}") from None
    return Rule(compiled, _python_replacement(compiled, replacement, whole), letters)


def _python_replacement(pattern: re.Pattern[str], replacement: str, whole: str) -> str:
    """A replacement of Java in the form of Python's re: `$1` and `${name}` are groups, a backslash takes what follows
    it literally. A number that no group has is itself, if there are groups at all.
    """

    def of_reference(found: re.Match[str]) -> str:
        literal, digits, name, _ = found.groups()
        if literal is not None:
            return "\\\\" if literal == "\\" else literal
        if name in pattern.groupindex:
            return f"\\g<{name}>"
        number = digits or ""
        while number and int(number) > pattern.groups:
            number = number[:-1]
        if number:
            return f"\\g<{number}>{digits[len(number) :]}"
        if digits and pattern.groups:
            return found[0]
        raise SettingError(f"{SETTING}: Invalid rule: `{whole}`, its replacement names no group by {found[0]!r}")

    return _REFERENCE.sub(of_reference, replacement)
