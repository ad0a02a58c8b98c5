"""An API's own error layout, made from its declaration (AV-10).

Most answers have an error code at the top. In the others every entry of the request has one in the answer: the
request's lists are walked, and what an answer's entry has in common with the request's is copied.
"""

from typing import Any

from fakebroker.errors import ErrorCode
from fakebroker.schema.types import ArrayOf, FieldSpec, Primitive

# The same thing has several names in the protocol.
_INDEX_NAMES = ("partition_index", "index", "partition")
_NAME_NAMES = ("name", "topic", "group_id", "member_id")


def refusal(response: Any, request: Any, version: int, code: ErrorCode) -> Any:
    """The answer of class `response` in which everything that `request` asked for failed with `code`."""
    return _filled(response, _plain(type(request), request), version, code)


def _filled(declaration: Any, source: dict[str, Any], version: int, code: ErrorCode) -> Any:
    fields: tuple[FieldSpec, ...] = declaration.fields
    has_code = _has_code(declaration, version)
    values: dict[str, Any] = {}
    for spec in (spec for spec in fields if spec.versions.includes(version)):
        if spec.name == "error_code" and has_code:
            values[spec.name] = int(code)
        elif isinstance(spec.type, ArrayOf):
            if not has_code and _leads_to_code(spec.type.element, version):
                entries = _entries(spec.name, source)
                values[spec.name] = [_filled(spec.type.element, entry, version, code) for entry in entries]
        elif (value := _same(spec, source)) is not None:
            values[spec.name] = value
    if declaration.is_row:
        return tuple(values.get(spec.name, spec.fresh_default()) for spec in fields)
    return declaration(**values)


def _has_code(declaration: Any, version: int) -> bool:
    return any(spec.name == "error_code" and spec.versions.includes(version) for spec in declaration.fields)


def _leads_to_code(element: Any, version: int) -> bool:
    """Whether entries of this type have an error code, or hold entries that have one."""
    if isinstance(element, Primitive):
        return False
    return _has_code(element, version) or any(
        isinstance(spec.type, ArrayOf)
        and spec.versions.includes(version)
        and _leads_to_code(spec.type.element, version)
        for spec in element.fields
    )


def _plain(declaration: Any, value: Any) -> dict[str, Any]:
    """A structure or row as a dictionary, and so are those in its lists; a bare value gets every name it can have."""
    if isinstance(declaration, Primitive):
        return dict.fromkeys(_INDEX_NAMES if isinstance(value, int) else _NAME_NAMES, value)
    plain: dict[str, Any] = {}
    for place, spec in enumerate(declaration.fields):
        part = value[place] if declaration.is_row else getattr(value, spec.name)
        if isinstance(spec.type, ArrayOf):
            part = [_plain(spec.type.element, entry) for entry in part or ()]
        plain[spec.name] = part
    return plain


def _entries(name: str, source: dict[str, Any]) -> list[dict[str, Any]]:
    """The request's list that an answer's list mirrors: the one of that name, else its only one that is not empty."""
    lists = {key: value for key, value in source.items() if isinstance(value, list) and value}
    if name not in lists and len(lists) == 1:
        return next(iter(lists.values()))
    return lists.get(name, [])


def _same(spec: FieldSpec, source: dict[str, Any]) -> Any:
    """What the request called by this name, or by another name for the same thing; None if it is of another type."""
    names = next((names for names in (_INDEX_NAMES, _NAME_NAMES) if spec.name in names), (spec.name,))
    value = next((source[name] for name in names if name in source), None)
    return value if isinstance(spec.type, Primitive) and type(value) is type(spec.type.zero) else None
