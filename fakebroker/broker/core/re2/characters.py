"""Sets of characters in patterns of RE2: single ones, ranges, and classes with names."""

import unicodedata
from collections.abc import Callable, Sequence
from typing import Final

Test = Callable[[str], bool]


class Characters:
    """A set of characters: those that pass any of the tests, or with `is_negated` those that pass none.

    With `ignores_case` a character also passes if it does so as a capital or small letter.
    """

    __slots__ = ("_ignores_case", "_is_negated", "_tests")

    def __init__(self, tests: Sequence[Test], *, is_negated: bool = False, ignores_case: bool = False) -> None:
        self._tests = tests
        self._is_negated = is_negated
        self._ignores_case = ignores_case

    def has(self, character: str) -> bool:
        """Whether the character is in the set."""
        forms = [character]
        if self._ignores_case:
            forms += [each for each in (character.lower(), character.upper()) if len(each) == 1]
        return any(test(form) for form in forms for test in self._tests) is not self._is_negated


def between(low: str, high: str) -> Test:
    """The characters from one to another, both included."""
    return lambda character: low <= character <= high


def among(*ranges: str) -> Test:
    """The characters of ranges, each given as its first and last character."""
    return lambda character: any(each[0] <= character <= each[1] for each in ranges)


def without(test: Test) -> Test:
    """The characters that do not pass a test."""
    return lambda character: not test(character)


def of_category(name: str) -> Test:
    """The characters of a general category of Unicode, such as L or Lu."""
    return lambda character: unicodedata.category(character).startswith(name)


PERL: Final = {"d": among("09"), "s": among("\t\n", "\f\r", "  "), "w": among("09", "AZ", "__", "az")}
"""Classes by the letter after the backslash."""

POSIX: Final = {
    "alnum": among("09", "AZ", "az"),
    "alpha": among("AZ", "az"),
    "ascii": among("\0\x7f"),
    "blank": among("\t\t", "  "),
    "cntrl": among("\0\x1f", "\x7f\x7f"),
    "digit": among("09"),
    "graph": among("!~"),
    "lower": among("az"),
    "print": among(" ~"),
    "punct": among("!/", ":@", "[`", "{~"),
    "space": among("\t\r", "  "),
    "upper": among("AZ"),
    "word": PERL["w"],
    "xdigit": among("09", "AF", "af"),
}
"""Classes of [[:name:]]."""

_MINOR: Final = {"C": "cfos", "L": "lmotu", "M": "cen", "N": "dlo", "P": "cdefios", "S": "ckmo", "Z": "lps"}
CATEGORIES: Final = frozenset(_MINOR) | {major + each for major, minors in _MINOR.items() for each in minors}
"""General categories of Unicode."""
