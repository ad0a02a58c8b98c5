"""No text about a step that went wrong shows a secret: neither what was expected or given, nor what was seen."""

from collections.abc import Iterator
from typing import Any

import pytest

from fakebroker.client.login_steps import LoginSteps
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.protocol.schema.building import built
from fakebroker.protocol.schema.entities import FieldPath, fields_of
from fakebroker.protocol.schema.types import ArrayOf
from fakebroker.protocol.wire.registry import APIS
from fakebroker.scenarios.playing.answer_views import answer_view
from fakebroker.scenarios.playing.arguments import as_taken
from fakebroker.scenarios.playing.matching import mismatches
from fakebroker.scenarios.playing.raw_requests import read_field

SEEN, GIVEN = "WONDERLAND", "CHESHIRE"
WRONG_FORMS: tuple[Any, ...] = ({"hex": f"00{GIVEN}"}, {GIVEN: 1}, [GIVEN])


def secret_fields(kind: str) -> Iterator[tuple[Any, FieldPath]]:
    """The fields that are declared secret, of the requests or the answers of all APIs."""
    for each in APIS.values():
        declaration = getattr(each, kind)
        for path in fields_of(declaration, "secret"):
            yield declaration, path


def nested(path: FieldPath, value: Any) -> dict[str, Any]:
    """The fields of a message with this value at a path."""
    for spec in reversed(path):
        value = {spec.name: [value] if isinstance(spec.type, ArrayOf) else value}
    return dict(value)


def wrongly_expected(path: FieldPath) -> Iterator[Any]:
    """What an answer is not, at each depth of a path."""
    yield nested(path, GIVEN)
    yield nested(path, {"not": SEEN})
    yield nested(path, {"one_of": [GIVEN, GIVEN]})
    yield nested(path, {"contains": GIVEN})
    yield nested(path, {"hex": GIVEN})
    yield nested(path, {"hex": {"matches": GIVEN}})
    for depth in range(1, len(path) + 1):
        inner = nested(path[depth:], GIVEN) if path[depth:] else GIVEN
        yield {path[0].name: [inner, inner]}
        yield {path[0].name: {"unordered": [inner]}}
        yield {path[0].name: 0}
        yield {path[0].name: GIVEN}


def check_hidden(text: str) -> None:
    assert not [each for each in (SEEN, GIVEN, SEEN.encode().hex()) if each in text], text


@pytest.mark.parametrize(("declaration", "path"), [*secret_fields("response")], ids=str)
def test_what_is_wrong_with_a_secret_is_said_without_it(declaration: Any, path: FieldPath) -> None:
    """For every secret field of every answer, whichever part of the answer the expectation is about."""
    answer = built(declaration, nested(path, SEEN), read_field)
    version = APIS[declaration.api_key].max

    seen = answer_view(answer, version)

    assert mismatches(nested(path, SEEN), seen) == []
    for expected in wrongly_expected(path):
        problems = mismatches(expected, seen)
        assert problems
        for each in problems:
            check_hidden(each)


@pytest.mark.parametrize("wrong", WRONG_FORMS, ids=str)
@pytest.mark.parametrize(("declaration", "path"), [*secret_fields("request")], ids=str)
def test_a_secret_of_a_wrong_form_is_not_repeated(declaration: Any, path: FieldPath, wrong: Any) -> None:
    """For every secret field of every request, and the structures that it is in."""
    givens = [nested(path, wrong), *({path[0].name: nested(path[1:], GIVEN)} for _ in path[1:])]
    for given in givens:
        with pytest.raises(InvalidArgument) as raised:
            built(declaration, given, read_field)
        check_hidden(str(raised.value))


@pytest.mark.parametrize("name", ["password", "token"])
def test_a_login_with_a_wrong_value_does_not_repeat_it(name: str) -> None:
    """It may have been saved from an answer."""
    with pytest.raises(InvalidArgument) as raised:
        as_taken(LoginSteps.login, name, {"hex": GIVEN})
    assert str(raised.value).startswith(f"{name}: should be a text")
    check_hidden(str(raised.value))
