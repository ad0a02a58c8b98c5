"""Scenarios as text: one step a line, in the YAML that scenarios are read in; and what of them does not hold."""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

Json = Any

MAX_BYTES = 1 << 20  # of a scenario that can be read


class Made(NamedTuple):
    """A scenario as data, with the remarks that stand above it."""

    data: dict[str, Json]
    remarks: list[str]


class ScenarioText(NamedTuple):
    """A text, and the steps that its lines (counted from 1) are made of."""

    text: str
    steps: dict[int, dict[str, Json]]

    @property
    def is_too_long(self) -> bool:
        """Whether scenarios of this size are not read."""
        return len(self.text.encode()) > MAX_BYTES


def failures_of(text: str, name: str) -> dict[int, list[str]]:
    """Play a scenario in virtual time: its problems by line. `name` is what they call the file.

    Raises FakebrokerError for a text that is no scenario, and when the extra `scenario` is not installed.
    """
    from fakebroker.scenarios.happenings import Failed, Happening
    from fakebroker.scenarios.language.reading import read_scenario_text
    from fakebroker.scenarios.playing.player import Player
    from fakebroker.scenarios.playing.worlds import VirtualWorld

    failed: dict[int, list[str]] = {}

    def note(happening: Happening) -> None:
        if isinstance(happening, Failed):
            failed.setdefault(happening.step.place.line, []).extend(happening.problems)

    scenario = read_scenario_text(text, name=name)
    Player(VirtualWorld(scenario), scenario, on_happening=note).play()
    return failed


def text_of(made: Made, heading: str) -> ScenarioText:
    """A scenario as text, under a heading. Every step has a line of its own."""
    lines = [f"# {heading}", *(f"# {each}" for each in made.remarks)]
    for key, value in made.data.items():
        if isinstance(value, Mapping) and key in ("topics", "actors", "config"):
            lines += [f"{key}:", *(f"  {line_of(name)}: {line_of(each)}" for name, each in value.items())]
        elif key != "timeline":
            lines.append(f"{key}: {line_of(value)}")
    lines.append("timeline:")
    steps: dict[int, dict[str, Json]] = {}
    for step in made.data["timeline"]:
        if "repeat" in step:
            lines += [f"  - repeat: {step['repeat']}", "    steps:"]
            for each in step["steps"]:
                lines.append(f"      - {line_of(each)}")
                steps[len(lines)] = each
        else:
            lines.append(f"  - {line_of(step)}")
            steps[len(lines)] = step
    return ScenarioText("\n".join(lines) + "\n", steps)


def line_of(value: Json) -> str:
    """A value as YAML, in one line."""
    import yaml

    text: str = yaml.dump(
        value, Dumper=_dumper(), default_flow_style=True, sort_keys=False, width=1 << 30, allow_unicode=True
    )
    return text.removesuffix("\n").removesuffix("\n...")


@cache
def _dumper() -> Any:
    """A dumper for readers of YAML 1.2, to whom more texts look like numbers, such as 4e452: these get quotes."""
    import yaml

    from fakebroker.scenarios.language.yaml_file import resolved

    def represented(dumper: Any, text: str) -> Any:
        try:
            is_text = not text or resolved(text) is text
        except ValueError:
            is_text = False
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, None if is_text else "'")

    made = type("Dumper", (yaml.SafeDumper,), {"ignore_aliases": lambda *_: True})
    made.add_representer(str, represented)  # type: ignore[attr-defined]
    return made
