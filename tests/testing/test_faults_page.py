"""The tables of docs/how-to/faults.md are those of the declaration."""

from dataclasses import fields
from pathlib import Path

from fakebroker.broker.engine.faults.spec import ACTIONS, FaultSpec

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "faults.md"
PARTS = {"match": "which requests", "count": "which of them", "do": "what happens"}


def field_rows() -> list[str]:
    """The table of the fields."""
    rows = ["| | field | type | meaning |", "|---|---|---|---|"]
    part = ""
    for each in fields(FaultSpec):
        type_name = "function, in Python only" if each.metadata["python_only"] else type_text(str(each.type))
        first = PARTS[each.metadata["part"]] if each.metadata["part"] != part else ""
        part = each.metadata["part"]
        rows.append(f"| {first} | `{each.name}` | {type_name} | {each.metadata['about']} |")
    return rows


def type_text(annotation: str) -> str:
    return annotation.replace(" | None", "").replace(" | ", " or ")


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
