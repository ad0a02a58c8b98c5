"""The tables of docs/how-to/faults.md are those of the declaration."""

from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from fakebroker.broker.engine.faults.actions import ACTIONS
from fakebroker.broker.engine.faults.fields import FIELDS, PYTHON_ONLY, FaultFields

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "faults.md"
PARTS = {"match": "which requests", "count": "which of them", "do": "what happens"}


def field_rows() -> list[str]:
    """The table of the fields."""
    rows = ["| | field | type | meaning |", "|---|---|---|---|"]
    part = ""
    for each, hint in FaultFields.__annotations__.items():
        field = FIELDS[each]
        type_name = "function, in Python only" if each in PYTHON_ONLY else type_text(hint)
        rows.append(f"| {PARTS[field.part] if field.part != part else ''} | `{each}` | {type_name} | {field.about} |")
        part = field.part
    return rows


def type_text(hint: Any) -> str:
    """The names of the types: "int or str"."""
    if get_origin(hint) is Annotated:
        return type_text(hint.__origin__)
    if get_origin(hint) is Literal:
        return "str"
    parts = [part for part in get_args(hint) if part is not type(None)]
    return " or ".join(dict.fromkeys(map(type_text, parts))) if parts else str(hint.__name__)


def action_rows() -> list[str]:
    """The table of the actions."""
    rows = ["| action | what it does | own fields | `after` |", "|---|---|---|---|"]
    for name, action in ACTIONS.items():
        own = ", ".join([*(f"`{each}`" for each in action.needs), *(f"`{each}`, or none" for each in action.may)])
        others = [each for each in action.moments if each != action.moment]
        moments = ", ".join([f"`{action.moment}`", *(f"or `{each}`" for each in others)])
        rows.append(f"| `{name}` | {action.about} | {own or '-'} | {moments} |")
    return rows


def test_the_tables_are_those_of_the_declaration() -> None:
    """Every field and every action has its row, in the order of the declaration, and there are no others."""
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]

    assert rows == field_rows() + action_rows()
