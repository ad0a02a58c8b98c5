"""The arguments of a power as they come by HTTP: from the path, the query or a JSON body, checked against its types.

Nothing is converted that is not of the type already: "8" in a body is no number. Fields that do not exist are errors.
"""

import inspect
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    create_model,
)
from pydantic_core import from_json

from fakebroker.cli.http.problems import Problem, quoted, shown_value, unknown_field
from fakebroker.testing.exchanges.redaction import REDACTED

SECRET_ARGUMENTS = ("password", "users")  # their values are in no answer
STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
Long = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
Duration = Annotated[float, Field(ge=0)]


def _decoded(text: str) -> bytes:
    return b64decode(text, validate=True)


class Base64(BaseModel):
    """Bytes that are no text."""

    model_config = STRICT
    base64: Annotated[str, AfterValidator(_decoded), Field(json_schema_extra={"format": "byte"})]


Scalar = str | bool | Long | float | None
_REPLACED: dict[Any, Any] = {
    int: Long,
    bytes: str | Base64,
    datetime: AwareDatetime,
    object: Scalar,
    Any: Scalar,
}
_TUPLES: dict[type[BaseModel], type] = {}  # models of named tuples, and what they are models of
BYTES = 'should be a string, or {"base64": "..."} for bytes that are no text'
_PLAIN = (str, bool, float, type(None))


class Arguments:
    """Arguments that come in a query or a body, with their checks; those that JSON cannot say are left out."""

    def __init__(self, parameters: Iterable[inspect.Parameter], title: str) -> None:
        found = {parameter.name: parameter for parameter in parameters}
        types = {name: input_type(p.annotation) for name, p in found.items()}
        self.parameters = {name: p for name, p in found.items() if types[name] is not None}
        self._types = {name: _of_name(name, types[name]) for name in self.parameters}
        self.many = [p.name for p in self.parameters.values() if p.kind is p.VAR_POSITIONAL]
        self.model: type[BaseModel] = create_model(title, __config__=STRICT, **self._fields())

    def from_body(self, body: bytes) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword arguments from a JSON object; an empty body is one without fields. Raises Problem."""
        try:
            model = self.model.model_validate_json(body or b"{}")
        except ValidationError as error:
            raise _problem(error, list(self.parameters), body) from None
        return self._call(_given(model))

    def from_query(self, query: Sequence[tuple[str, str]]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The same from the fields of a query, which are texts. Raises Problem."""
        given: dict[str, Any] = {}
        for name, text in query:
            if name not in self.parameters:
                raise unknown_field(name, list(self.parameters), "the query")
            if name in self.many:
                given.setdefault(name, []).append(text)
            elif name in given:
                raise Problem(422, "invalid-argument", f"{name} is given twice", field=name, value=shown_value(text))
            else:
                given[name] = from_text(name, self._types[name], text)
        for name, parameter in self.parameters.items():
            if name not in given and parameter.default is parameter.empty and name not in self.many:
                raise Problem(422, "missing-field", f"the query needs the field {name!r}", field=name)
        return self._call(given)

    def schema_of(self, name: str) -> dict[str, Any]:
        """JSON Schema of one argument, for a query."""
        schema = dict(self.model.model_json_schema()["properties"][name])
        schema.pop("title", None)
        return schema

    def _fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for name, parameter in self.parameters.items():
            kind = self._types[name]
            if name in self.many:
                fields[name] = (list[kind], Field(min_length=1))  # type: ignore[valid-type]
            elif parameter.default is parameter.empty:
                fields[name] = (kind, ...)
            else:
                fields[name] = (kind, parameter.default)
        return fields

    def _call(self, given: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        many = [each for name in self.many for each in given.pop(name, ())]
        return tuple(many), given


def from_text(name: str, kind: Any, text: str) -> Any:
    """A value from the text of a path or a query. Raises Problem."""
    try:
        return TypeAdapter(kind, config=ConfigDict(strict=True, allow_inf_nan=False)).validate_strings(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        detail = f"{name}: {_sentence(first)}, not {quoted(text)}"
        raise Problem(422, "invalid-argument", detail, field=name, value=shown_value(text)) from None


def input_type(hint: Any) -> Any:
    """The type of an argument as HTTP takes it; None for one that JSON cannot say (a function, a socket)."""
    if hint in _REPLACED:
        return _REPLACED[hint]
    if hint in _PLAIN or get_origin(hint) is Literal:
        return hint
    if isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields"):
        return _tuple_model(hint)
    origin, parts = get_origin(hint), get_args(hint)
    if origin is None or ((isinstance(origin, type) and issubclass(origin, type)) or origin is Callable):
        return None
    known = [kind for part in parts if part is not Ellipsis and (kind := input_type(part)) is not None]
    if not isinstance(origin, type) or origin.__name__ == "UnionType":
        without_none = [kind for kind in known if kind is not type(None)]
        return Union[tuple(known)] if without_none else None  # noqa: UP007 (they are known at run time only)
    if issubclass(origin, Mapping):
        return _table(parts[0], known[-1]) if len(known) == 2 else None
    if issubclass(origin, tuple) and Ellipsis not in parts:
        return tuple[tuple(known)] if len(known) == len(parts) else None  # type: ignore[misc]
    if issubclass(origin, Sequence):
        return list[known[0]] if known else None  # type: ignore[valid-type]
    return None


def _table(key: Any, value: Any) -> Any:
    """A table of tables, one for each part of a key; together they are one table by tuples."""
    parts = get_args(key)
    kind = value
    for part in reversed(parts or (key,)):
        kind = dict[part, kind]  # type: ignore[valid-type]
    return Annotated[kind, AfterValidator(lambda table: _flat(table, len(parts)))] if parts else kind


def _flat(table: Any, depth: int) -> dict[tuple[Any, ...], Any]:
    if depth == 0:
        return {(): table}
    return {(key, *rest): value for key, inner in table.items() for rest, value in _flat(inner, depth - 1).items()}


@cache
def _tuple_model(kind: type) -> type[BaseModel]:
    """The object with the fields of a named tuple."""
    defaults = kind._field_defaults  # type: ignore[attr-defined]
    types = {name: input_type(hint) for name, hint in get_type_hints(kind).items() if name[0] != "_"}
    fields: dict[str, Any] = {name: (each, defaults.get(name, ...)) for name, each in types.items() if each is not None}
    model: type[BaseModel] = create_model(kind.__name__, __config__=STRICT, __doc__=kind.__doc__, **fields)
    _TUPLES[model] = kind
    return model


def _of_name(name: str, kind: Any) -> Any:
    return Duration if name in ("timeout_s", "idle_ttl_s") else kind


def _given(model: BaseModel) -> dict[str, Any]:
    """The fields that were given; base64 as bytes."""
    return {name: _plain(getattr(model, name)) for name in model.model_fields_set}


def _plain(value: Any) -> Any:
    if isinstance(value, Base64):
        return value.base64
    if type(value) in _TUPLES:
        return _TUPLES[type(value)](**_given(value))
    if isinstance(value, list | tuple):
        return type(value)(_plain(each) for each in value)
    return value


def _problem(error: ValidationError, known: list[str], body: bytes) -> Problem:
    """The first thing that is wrong with a body."""
    first = _first(error)
    path, where = first["loc"], "the body"
    if first["type"] == "json_invalid":
        return Problem(400, "malformed-json", f"{where} is not JSON: {first.get('ctx', {}).get('error', first['msg'])}")
    if not path:
        fields = ", ".join(known) or "none"
        return Problem(422, "invalid-argument", f"{where} is not an object with the fields {fields}")
    field, last = str(path[0]), str(path[-1])
    if first["type"] == "extra_forbidden" and len(path) == 1:
        return unknown_field(field, known, where)
    if first["type"] == "missing" and len(path) == 1:
        return Problem(422, "missing-field", f"{where} needs the field {field!r}", field=field)
    if field in SECRET_ARGUMENTS:
        return Problem(422, "invalid-argument", f"{field}: {_sentence(first)}", field=field, value=REDACTED)
    if (bytes_path := _path_of_bytes(error, path)) is not None:
        path, first = bytes_path, {"type": "bytes", "msg": BYTES, "input": _at(bytes_path, from_json(body))}
    is_extra = first["type"] == "extra_forbidden"
    value, place = first.get("input"), _place(path[:-1] if is_extra else path, from_json(body))
    if is_extra:
        value, wrong = {last: value}, f"has no field {last!r}"
    elif first["type"] == "missing":
        wrong = f"the field {last!r} is missing in {quoted(value)}"
    else:
        wrong = f"{_sentence(first)}, not {quoted(value)}"
    return Problem(422, "invalid-argument", f"{place}: {wrong}", field=field, value=shown_value(value))


def _first(error: ValidationError) -> Any:
    """The first error; where one of several types would be right, that of the type which was most nearly given."""
    found = error.errors(include_url=False)
    place = found[0]["loc"][:-1]
    return max((each for each in found if each["loc"][: len(place)] == place), key=lambda each: len(each["loc"]))


def _path_of_bytes(error: ValidationError, path: Sequence[str | int]) -> Sequence[str | int] | None:
    """Where bytes should be but something else is, on the way to `path`; None for base64 that is wrong in itself."""
    for each in error.errors(include_url=False):
        loc = each["loc"]
        if Base64.__name__ in loc:
            place = loc[: loc.index(Base64.__name__)]
            is_base64 = "base64" in loc and each["type"] != "missing"
            if place == tuple(path[: len(place)]) and not is_base64:
                return place
    return None


def _at(path: Sequence[str | int], data: Any) -> Any:
    """What stands there in the body. The names of types that a path of pydantic has are left out."""
    for part in path:
        if _has(data, part):
            data = data[part]
    return data


def _place(path: Sequence[str | int], data: Any) -> str:
    """Where in the body: requests[0]. The names of types that a path of pydantic has are left out."""
    place = str(path[0])
    data = data.get(place)
    for part in path[1:]:
        if _has(data, part):
            place, data = f"{place}[{part!r}]", data[part]
    return place


def _has(data: Any, part: str | int) -> bool:
    """Whether a list has that index, or an object that key."""
    if isinstance(data, list):
        return isinstance(part, int) and part < len(data)
    return isinstance(data, dict) and part in data


def _sentence(error: Any) -> str:
    """What pydantic says should be there, as a clause."""
    if error["type"] == "too_short":
        return "should have at least one element"
    text: str = error["msg"]
    return text.removeprefix("Input ").removeprefix("Value error, ")
