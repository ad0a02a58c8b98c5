"""The arguments of a power as they come by HTTP: from the path, the query or a JSON body, read as its signature says.

Nothing is converted that is not of the type already: "8" in a body is no number. Fields that do not exist are errors.
"""

import inspect
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic_core import from_json

from fakebroker.cli.http.problems import Problem, shown_value
from fakebroker.protocol.arguments.forms import JSON, JsonForm, Schema
from fakebroker.protocol.arguments.kinds import Kind, WrongValue
from fakebroker.protocol.arguments.signatures import data_kind, missing_argument, unknown_argument
from fakebroker.protocol.arguments.structures import ListOf
from fakebroker.protocol.errors import UnknownThing
from fakebroker.testing.exchanges.redaction import REDACTED

SECRET_ARGUMENTS = ("password", "users")  # their values are in no answer


class Arguments:
    """Arguments that come in a query or a body; those that JSON cannot say are left out.

    `of` is what they are of, for errors: the name of a power.
    """

    def __init__(self, parameters: Iterable[inspect.Parameter], title: str, of: str) -> None:
        found = {
            each.name: (each, data_kind(each.annotation)) for each in parameters if each.kind is not each.VAR_KEYWORD
        }
        self.title = title
        self._of = of
        self.parameters = {name: parameter for name, (parameter, kind) in found.items() if kind is not None}
        self.many = [p.name for p in self.parameters.values() if p.kind is p.VAR_POSITIONAL]
        self.kinds: dict[str, Kind] = {
            name: ListOf(kind, 1) if name in self.many else kind
            for name, (_, kind) in found.items()
            if kind is not None
        }
        self.required = [
            name for name, each in self.parameters.items() if each.default is each.empty or name in self.many
        ]

    def from_body(self, body: bytes) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword arguments from a JSON object; an empty body is one without fields. Raises Problem."""
        try:
            given = from_json(body or b"{}", allow_inf_nan=False)
        except ValueError as error:
            raise Problem(400, "malformed-json", f"the body is not JSON: {error}") from None
        if not isinstance(given, dict):
            fields = ", ".join(self.kinds) or "none"
            raise Problem(422, "invalid-argument", f"the body should be an object with the fields {fields}")
        for name in given:
            self._check_name(name)
        return self._read(given, self.required)

    def from_query(self, query: Sequence[tuple[str, str]]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The same from the fields of a query, which are texts. Raises Problem."""
        given: dict[str, Any] = {}
        for name, text in query:
            self._check_name(name)
            if name in self.many:
                given.setdefault(name, []).append(text)
            elif name in given:
                raise Problem(422, "invalid-argument", f"{name} is given twice", field=name, value=shown_value(text))
            else:
                given[name] = self.kinds[name].parsed(text)
        return self._read(given, [name for name in self.required if name not in self.many])

    def schema(self, form: JsonForm) -> Schema:
        """JSON Schema of a body."""
        properties = {
            name: kind.schema(form)
            | ({} if name in self.required else {"default": _data(self.parameters[name].default)})
            for name, kind in self.kinds.items()
        }
        needed = {"required": self.required} if self.required else {}
        return {"additionalProperties": False, "properties": properties, **needed, "type": "object"}

    def _check_name(self, name: str) -> None:
        if name not in self.kinds:
            detail = f"{shown_value(name)}: {unknown_argument(self._of, name, self.kinds)}"
            raise Problem(422, "unknown-field", detail, field=shown_value(name))

    def _read(self, given: dict[str, Any], required: Sequence[str]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        made = {name: read(name, self.kinds[name], value) for name, value in given.items()}
        for name in required:
            if name not in given:
                detail = f"{name}: {missing_argument(self._of, self.kinds[name])}"
                raise Problem(422, "missing-field", detail, field=name)
        many = [each for name in self.many for each in made.pop(name, ())]
        return tuple(many), made


def read(name: str, kind: Kind, value: Any) -> Any:
    """A value of JSON, or of the text of a path or query once that is parsed. Raises Problem."""
    try:
        return kind.read(value, JSON)
    except WrongValue as wrong:
        error = wrong.of(name)
        shown = REDACTED if name in SECRET_ARGUMENTS else shown_value(error.value)
        status, kind_of_problem = (
            (404, "unknown-thing") if isinstance(error, UnknownThing) else (422, "invalid-argument")
        )
        raise Problem(status, kind_of_problem, str(error), field=name, value=shown) from None


def _data(default: Any) -> Any:
    """A default as data: an empty list for an empty tuple."""
    return list(default) if isinstance(default, tuple) else default
