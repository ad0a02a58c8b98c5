"""Sets of characters in patterns of RE2: single ones, ranges, and classes with names."""

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from sys import maxunicode
from typing import Final, NamedTuple


class Part(NamedTuple):
    """Some characters: those of ranges, each its first and its last one, and those of general categories of Unicode."""

    ranges: tuple[tuple[str, str], ...] = ()
    categories: frozenset[str] = frozenset()


class Characters:
    """A set of characters: those of any part, or with `is_negated` those of none.

    With `ignores_case` a character is also in a part if it is there as a capital or small letter, `of_ascii` only where
    these are such of ASCII. To look for one takes
    the same time however many parts a pattern has: their ranges are sorted and merged.
    """

    __slots__ = ("_categories", "_firsts", "_ignores_case", "_is_negated", "_lasts", "_of_ascii")

    def __init__(
        self, parts: Iterable[Part], *, is_negated: bool = False, ignores_case: bool = False, of_ascii: bool = False
    ) -> None:
        parts = list(parts)
        self._firsts, self._lasts = _merged(each for part in parts for each in part.ranges)
        self._categories = frozenset[str]().union(*[part.categories for part in parts if part.categories])
        self._is_negated = is_negated
        self._ignores_case, self._of_ascii = ignores_case, of_ascii

    def has(self, character: str) -> bool:
        """Whether the character is in the set."""
        is_in = self._is_in_parts(character)
        if not is_in and self._ignores_case and (not self._of_ascii or character.isascii()):
            forms = character.lower(), character.upper()
            is_in = any(self._is_in_parts(each) for each in forms if len(each) == 1)
        return is_in is not self._is_negated

    def _is_in_parts(self, character: str) -> bool:
        at = bisect_right(self._firsts, character) - 1
        if at >= 0 and character <= self._lasts[at]:
            return True
        return bool(self._categories) and unicodedata.category(character) in self._categories


def _merged(ranges: Iterable[tuple[str, str]]) -> tuple[str, str]:
    """The first characters of ranges, and the last ones, in their order; ranges that overlap are one."""
    firsts, lasts = list[str](), list[str]()
    for first, last in sorted(ranges):
        if lasts and first <= lasts[-1]:
            lasts[-1] = max(last, lasts[-1])
        else:
            firsts.append(first)
            lasts.append(last)
    return "".join(firsts), "".join(lasts)


def between(first: str, last: str) -> Part:
    """The characters from one to another, both included."""
    return Part(((first, last),))


def among(*ranges: str) -> Part:
    """The characters of ranges in their order, each given as its first and last character."""
    return Part(tuple((each[0], each[1]) for each in ranges))


def without(part: Part) -> Part:
    """The characters that are not in a part, which has either ranges or categories."""
    if not part.ranges:
        return Part(categories=_ALL_CATEGORIES - part.categories)
    borders = [-1, *[ord(each) for ends in part.ranges for each in ends], maxunicode + 1]
    gaps = [(last + 1, first - 1) for last, first in list(pairwise(borders))[::2]]
    return Part(tuple((chr(first), chr(last)) for first, last in gaps if first <= last))


@cache
def of_category(name: str) -> Part:
    """The characters of a general category of Unicode, such as L or Lu; "" for all."""
    return Part(categories=frozenset(each for each in _ALL_CATEGORIES if each.startswith(name)))


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
_ALL_CATEGORIES: Final = frozenset(each for each in CATEGORIES if len(each) == 2) | {"Cn"}
