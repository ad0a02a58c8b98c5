"""Errors have their names in tests: ErrorCode.ILLEGAL_GENERATION says what 22 does not."""

import ast
from collections.abc import Iterator

from tests.support.sources import ROOT, nodes_of, python_files, tree_of

SEQUENCES = ast.Tuple | ast.List | ast.Set
COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.GeneratorExp


def compared_numbers(tree: ast.AST) -> Iterator[str]:
    """The comparisons in a file of an error with a number that is not 0."""
    for compare in nodes_of(tree, ast.Compare):
        sides = [compare.left, *compare.comparators]
        for left, operator, right in zip(sides, compare.ops, sides[1:], strict=False):
            pairs = pairs_in(left, right, is_member=isinstance(operator, ast.In | ast.NotIn))
            if any(is_error(each) and is_number(other) for each, other in pairs):
                yield f"line {compare.lineno}: {ast.unparse(compare)}"


def pairs_in(left: ast.expr, right: ast.expr, *, is_member: bool = False) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What stands for what: the parts of tuples, lists and comprehensions one by one, both ways round."""
    if isinstance(right, ast.IfExp):
        for either in (right.body, right.orelse):
            yield from pairs_in(left, either, is_member=is_member)
    elif isinstance(right, ast.BinOp) and isinstance(right.left, ast.List):
        yield from pairs_in(left, right.left)
    elif isinstance(right, SEQUENCES) and (is_member or isinstance(left, COMPREHENSIONS)):
        inner = left.elt if isinstance(left, COMPREHENSIONS) else left
        for each in right.elts:
            yield from pairs_in(inner, each)
    elif isinstance(left, ast.DictComp) and isinstance(right, ast.Dict):
        for value in right.values:
            yield from pairs_in(left.value, value)
    elif isinstance(left, SEQUENCES) and isinstance(right, SEQUENCES):
        for one, other in zip(left.elts, right.elts, strict=False):
            yield from pairs_in(one, other)
    else:
        yield left, right
        yield right, left


def is_error(node: ast.expr) -> bool:
    """Whether it is `x.error_code`, or `x["error_code"]` as decoded messages have it."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value in ("error_code", "ErrorCode")
    return isinstance(node, ast.Attribute) and node.attr == "error_code"


def is_number(node: ast.expr) -> bool:
    """Whether it is a number; 0 is no error."""
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(inner, ast.Constant) and type(inner.value) is int and inner.value != 0


def test_errors_are_compared_by_name() -> None:
    """No test, and nothing that supports tests, compares an error code with a number other than 0."""
    found = {
        f"{path.relative_to(ROOT)}, {comparison}"
        for path in python_files("tests")
        for comparison in compared_numbers(tree_of(path))
    }

    assert found == set()


def test_every_form_of_a_number_is_found() -> None:
    """Alone, in tuples, lists, sets and dicts, of one answer or of many."""
    wrong = [
        "a.error_code == 22",
        "25 != a.error_code",
        "a.error_code == -1",
        "a['ErrorCode'] == 22",
        "a.error_code in (0, 22)",
        "(a.error_code, a.member_id) == (25, '')",
        "[each.error_code for each in a] == [24, 25]",
        "[each.error_code for each in a] == [35] * 4",
        "{each.error_code for each in a} == {0, 3}",
        "{each.name: each.error_code for each in a} == {'t': 3}",
        "[(each.name, each.error_code) for each in a] == [('t', 3)]",
        "a.error_code == (22 if old else 0)",
    ]
    right = [
        "a.error_code == 0",
        "a.error_code == ErrorCode.NONE",
        "(a.error_code, a.epoch) == (0, 5)",
        "a.epoch == 22",
    ]

    assert [each for each in wrong if not list(compared_numbers(ast.parse(each)))] == []
    assert [each for each in right if list(compared_numbers(ast.parse(each)))] == []
