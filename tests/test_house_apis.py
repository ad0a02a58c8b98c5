"""A rule of the house, read from the source: numbers and versions of APIs are in `protocol`, others use their names."""

import ast
import re
from collections.abc import Iterator
from itertools import chain

import pytest

from fakebroker.protocol.wire.api_keys import ApiKey
from tests.support.sources import nodes_of, tree_of
from tests.test_house import PACKAGE, SOURCES, name_of

NAMES, NUMBERS = {key.api_name for key in ApiKey}, frozenset(ApiKey)
# What has the name of an API, and by chance its number, but is something else.
NO_API = {
    "fakebroker.broker.core.groups.consumer.records": {"METADATA"},  # a version of keys in __consumer_offsets
    "fakebroker.serve.net.tls.words": {"_VERIFY_WORDS"},  # OpenSSL's codes
}
FEWEST_KEYS = 3  # a dictionary with fewer numbers is not a table of APIs


def is_number(node: ast.AST | None) -> bool:
    """A number as it stands in the source, that some API has."""
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value in NUMBERS


def is_named(node: ast.AST | None) -> bool:
    """The name of an API: "OffsetFetch", ApiKey.OFFSET_FETCH or OFFSET_FETCH."""
    if isinstance(node, ast.Constant):
        return node.value in NAMES
    name = getattr(node, "attr", getattr(node, "id", ""))
    return name.lstrip("_") in ApiKey.__members__


def is_api_key(node: ast.AST) -> bool:
    """An expression that is the number of an API: api_key, route.api_key, api.key."""
    return re.fullmatch(r"(.*\.|_)?api_key|(.*\.)?api\.key", ast.unparse(node)) is not None


def compared(node: ast.Compare) -> bool:
    """Whether the number of an API is compared with one in the source."""
    sides = [node.left, *node.comparators]
    literals = chain.from_iterable([side, *getattr(side, "elts", ())] for side in sides)
    return any(map(is_api_key, sides)) and any(map(is_number, literals))


def table(node: ast.Dict) -> bool:
    """Whether a dictionary has APIs by their numbers, or versions by APIs."""
    numbers = [key for key in node.keys if is_number(key)]
    is_of_versions = all(map(is_named, node.keys)) and all(
        isinstance(value, ast.Constant) and type(value.value) is int for value in node.values
    )
    return bool(node.keys) and (len(numbers) >= FEWEST_KEYS or is_of_versions)


def targets_of(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    """What an assignment assigns to."""
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def constants(node: ast.Assign | ast.AnnAssign) -> list[str]:
    """The names that an assignment gives to numbers of APIs."""
    pairs: list[tuple[ast.expr, ast.expr | None]] = []
    for target in targets_of(node):
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs += zip(target.elts, node.value.elts, strict=False)
        else:
            pairs.append((target, node.value))
    return [
        target.id
        for target, value in pairs
        if isinstance(target, ast.Name)
        and isinstance(value, ast.Constant)
        and type(value.value) is int
        and ApiKey.__members__.get(target.id.lstrip("_")) == value.value
    ]


def numbers_in(tree: ast.AST) -> Iterator[str]:
    """Where a module has a number of an API, or versions of APIs, in place of a name."""
    names = {
        id(node.value): ast.unparse(target)
        for node in nodes_of(tree, ast.Assign, ast.AnnAssign)
        for target in targets_of(node)
    }
    for node in nodes_of(tree, ast.Compare, ast.Dict, ast.Assign, ast.AnnAssign, ast.Call, ast.keyword):
        match node:
            case ast.Compare() if compared(node):
                yield ast.unparse(node)
            case ast.Dict() if table(node):
                yield names.get(id(node), ast.unparse(node)[:40])
            case ast.Assign() | ast.AnnAssign():
                yield from constants(node)
            case ast.Call(func=ast.Name(id="frozenset"), args=[ast.Set(elts=entries) | ast.Tuple(elts=entries)]):
                if any(map(is_number, entries)) and all(is_number(each) or is_named(each) for each in entries):
                    yield ast.unparse(node)[:40]
            case ast.keyword(arg="api_key") if is_number(node.value):
                yield f"api_key={ast.unparse(node.value)}"


def test_numbers_and_versions_of_apis_are_in_the_protocol() -> None:
    """Outside of it an API is an `ApiKey`, and what its versions can do has a name in the registry."""
    others = [path for path in SOURCES if path.relative_to(PACKAGE).parts[0] != "protocol"]
    found = {name_of(path): set(numbers_in(tree_of(path))) - NO_API.get(name_of(path), set()) for path in others}

    assert len(found) > 700
    assert {module: numbers for module, numbers in found.items() if numbers} == {}


@pytest.mark.parametrize(
    "source",
    [
        "if api_key == 18: pass",
        "if request.api_key != 1: pass",
        "if 3 == head.api_key: pass",
        "if route.api_key in (71, 72): pass",
        "_OFFSET_DELETE = 47",
        "_OFFSET_DELETE: Final = 47",
        "FETCH, FIND_COORDINATOR = 1, 10",
        "MODULES: dict[int, str] = {0: 'produce', 1: 'fetch', 2: 'list_offsets'}",
        "NEWEST_BY_NAME = {'Produce': 12, 'OffsetFetch': 7}",
        "STRICT_FROM = {CREATE_TOPICS: 6, ApiKey.DELETE_TOPICS: 5}",
        "EXEMPT = frozenset({27})",
        "ANSWERED_ONCE = frozenset((0, 8, 21))",
        "ApiVersion(api_key=18, min_version=lowest)",
    ],
)
def test_a_number_of_an_api_is_found(source: str) -> None:
    """In a comparison, a constant, a table or a set, by its number or with its versions."""
    assert len(list(numbers_in(ast.parse(source)))) >= 1


def test_names_and_other_numbers_are_no_numbers_of_apis() -> None:
    """What uses `ApiKey` is not found, nor other codes, nor versions that a handler compares."""
    source = """
if api_key == ApiKey.FETCH or code == 3 or version >= 8: pass
NEWEST = {ApiKey.OFFSET_FETCH: newest_by_name(ApiKey.OFFSET_FETCH)}
DESCRIBE_CONFIGS = 10
TIMES = {0: "never", 1: "once"}
STATUSES = {200: "OK", 404: "Not found", 503: "Unavailable"}
NO_ID = frozenset({"", 0})
"""
    assert list(numbers_in(ast.parse(source))) == []
