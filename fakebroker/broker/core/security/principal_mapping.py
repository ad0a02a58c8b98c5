"""Who a client is by the name in its certificate: the setting `ssl.principal.mapping.rules` (KIP-371, KIP-492).

Rules stand in a list, and the first that applies counts: `DEFAULT` takes the whole name, `RULE:pattern/replacement/`
what the pattern makes of it; an L or a U at the end makes the result lower or upper case.

Patterns are those of RE2, so that a name costs no more steps than it has characters and the rules have states. Java and
Python need years for `(a+)+` and a name that somebody has chosen.
MOCK: Kafka takes Java's patterns, which also look ahead and behind and refer to groups, of any size, and names of any
length. No rule with a `$` applies to a name that ends with a line end, which Java does not always count.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from fakebroker.broker.core.re2.finding import Finder
from fakebroker.broker.core.re2.java import LINE_ENDS, OtherInJava
from fakebroker.broker.core.re2.syntax import InvalidPattern
from fakebroker.protocol.errors import FakebrokerError, SettingError

SETTING = "ssl.principal.mapping.rules"
MAX_LENGTH = 10_000  # of the setting: a replacement may be put in for each character of a name
MAX_NAME_LENGTH = 1000
MAX_STATES = 1000  # of all rules together; a usual one has 50
_DEFAULT = "DEFAULT"
_PART = r"((?:\\.|[^\\/])*+)"  # of a rule: without a slash, unless a backslash stands before it
_RULE = re.compile(rf"RULE:{_PART}/{_PART}/([LU]?)")
_REFERENCE = re.compile(r"\\(.)|\$([0-9]+)|\$\{(\w+)\}|([\\$])", re.DOTALL)
_LONGEST_NUMBER = 4  # of a group; there are fewer than MAX_STATES


class NoRuleApplies(FakebrokerError):
    """No rule applies to the name in a client's certificate: its connection closes."""


class Rule(NamedTuple):
    """One rule. `pattern` has to match a whole name; None is DEFAULT. `replacement` has texts and numbers of groups."""

    pattern: Finder | None
    replacement: tuple[str | int, ...] = ()
    letters: str = ""

    def apply(self, name: str) -> str | None:
        """What the rule makes of a name, None if it does not apply."""
        if self.pattern is None:
            return name
        if not self.pattern.matches(name):
            return None
        result, end = "", 0
        for places in self.pattern.find_all(name):
            result += name[end : places[0]] + "".join(_replaced(part, name, places) for part in self.replacement)
            end = places[1] or 0
        return {"L": str.lower, "U": str.upper}.get(self.letters, str)(result + name[end:])


class PrincipalMapping:
    """The rules of a listener, in their order."""

    def __init__(self, text: str) -> None:
        """`text` is the value of the setting. Raises SettingError, which names what is wrong.

        MOCK: a replacement that names a group which there is not closes every connection in Kafka. Here the broker does
        not start.
        """
        if len(text) > MAX_LENGTH:
            raise SettingError(f"{SETTING}: it has {len(text):,} characters; at most {MAX_LENGTH:,} are served")
        self._rules: list[Rule] = []
        self._text = text
        states = 0
        for rule in _rules(text.strip()):
            self._rules.append(rule)
            states += 0 if rule.pattern is None else rule.pattern.state_count
            if states > MAX_STATES:
                raise SettingError(f"{SETTING}: its patterns have more than {MAX_STATES:,} states together")
        self._has_patterns = states > 0

    def name_of(self, distinguished_name: str) -> str:
        """The name of the principal whose certificate has this name. Raises NoRuleApplies."""
        if len(distinguished_name) > MAX_NAME_LENGTH and self._has_patterns:
            raise NoRuleApplies(
                f"the rules of {SETTING} are applied to names of at most {MAX_NAME_LENGTH:,} characters, and that of "
                f"the certificate has {len(distinguished_name):,}: {distinguished_name[:100]}..."
            )
        ends_line = distinguished_name.endswith(tuple(LINE_ENDS))
        for rule in self._rules:
            if ends_line and rule.pattern is not None and rule.pattern.asks_for_end:
                break
            name = rule.apply(distinguished_name)
            if name is not None:
                return name
        raise NoRuleApplies(f"no rule of {SETTING} ({self._text}) applies to the certificate of {distinguished_name}")


def _rules(text: str) -> Iterator[Rule]:
    """The rules one by one. Commas separate them; one inside of a pattern or replacement does not."""
    at = 0
    while at < len(text):
        found = _RULE.match(text, at)
        head = "" if found is None else found[0]
        comma = text.find(",", at + len(head))
        end = len(text) if comma < 0 else comma
        whole = text[at:end].rstrip()
        at = _after_spaces(text, end + 1)
        if found is not None:
            _check_end(whole, found[0])
            pattern, replacement, letters = found.groups()
            yield _rule(pattern, replacement, letters, whole)
        elif whole:
            _check_end(whole, _DEFAULT if whole.startswith(_DEFAULT) else "")
            yield Rule(None)


def _after_spaces(text: str, at: int) -> int:
    """The first place from `at` on without a space."""
    while text[at : at + 1].isspace():
        at += 1
    return at


def _check_end(whole: str, known: str) -> None:
    """Raises SettingError for a rule that does not end where it should."""
    if whole != known:
        raise SettingError(f"{SETTING}: Invalid rule: `{whole}`, unmatched substring: `{whole.removeprefix(known)}`")


def _rule(pattern: str, replacement: str, letters: str, whole: str) -> Rule:
    try:
        finder = Finder(pattern)
    except InvalidPattern as error:
        problem = f"its pattern is none of RE2 (which has no look-ahead and no references): {error}"
        raise SettingError(f"{SETTING}: Invalid rule: `{whole}`, {problem}") from None
    except OtherInJava as error:
        problem = f"its pattern has {error}, which Java understands in another way than RE2: it is not served"
        raise SettingError(f"{SETTING}: Invalid rule: `{whole}`, {problem}") from None
    return Rule(finder, tuple(_parts(finder, replacement, whole)), letters)


def _parts(pattern: Finder, replacement: str, whole: str) -> Iterator[str | int]:
    """A replacement of Java: `$1` and `${name}` are groups, a backslash takes what follows it literally. A number that
    no group has is itself, if there are groups at all.
    """
    at = 0
    for found in _REFERENCE.finditer(replacement):
        yield replacement[at : found.start()]
        at = found.end()
        literal, digits, name, _ = found.groups()
        number = _group_number(digits or "", pattern.group_count)
        if literal is not None:
            yield literal
        elif name in pattern.group_names:
            yield pattern.group_names[name]
        elif number:
            yield int(number)
            yield digits[len(number) :]
        elif digits and pattern.group_count:
            yield found[0]
        else:
            raise SettingError(f"{SETTING}: Invalid rule: `{whole}`, its replacement names no group by {found[0]!r}")
    yield replacement[at:]


def _group_number(digits: str, most: int) -> str:
    """The longest beginning of a number that is that of a group."""
    number = digits[:_LONGEST_NUMBER]
    while number and int(number) > most:
        number = number[:-1]
    return number


def _replaced(part: str | int, name: str, places: list[int | None]) -> str:
    """A part of a replacement, for a match at these places; a group that is not in it is empty."""
    if isinstance(part, str):
        return part
    begin, end = places[2 * part : 2 * part + 2]
    return "" if end is None else name[begin:end]
