"""A scenario made of a session as a file: its text, and the proof that it passes."""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from fakebroker.recording.exchanges import too_long
from fakebroker.recording.to_scenario import Made

Json = Any

MOST_ROUNDS = 5
MOST_BYTES = 1 << 20  # of a scenario that can be read


class Written(NamedTuple):
    """A scenario's text, and what of it does not pass in fakebroker: a sentence for each step."""

    text: str
    problems: list[str]


class _Text(NamedTuple):
    """A text, and the steps that its lines (counted from 1) are made of."""

    text: str
    steps: dict[int, dict[str, Json]]


def written(made: Made, session: str) -> Written:
    """The scenario as text. Expectations in which fakebroker differs from what was recorded become remarks.

    Raises FakebrokerError when the extra `scenario` is not installed.
    """
    found = _text(made, session)
    if len(found.text.encode()) > MOST_BYTES:
        raise too_long(session)
    problems: list[str] = []
    for _ in range(MOST_ROUNDS):
        failed = _failed(found)
        problems = [problem for line in failed for problem in failed[line]]
        changed = [_without_expectation(found.steps[line], failed[line]) for line in failed if line in found.steps]
        if not any(changed):
            break
        found = _text(made, session)
    return Written(found.text, problems)


def _failed(found: _Text) -> dict[int, list[str]]:
    """Play it in virtual time: the problems by line."""
    from fakebroker.scenario.happenings import Failed, Happening
    from fakebroker.scenario.language.reading import read_scenario_text
    from fakebroker.scenario.playing.player import Player
    from fakebroker.scenario.playing.worlds import VirtualWorld

    failed: dict[int, list[str]] = {}

    def note(happening: Happening) -> None:
        if isinstance(happening, Failed):
            failed.setdefault(happening.step.place.line, []).extend(happening.problems)

    scenario = read_scenario_text(found.text, name="session.yaml")
    Player(VirtualWorld(scenario), scenario, on_happening=note).play()
    return failed


def _without_expectation(step: dict[str, Json], problems: list[str]) -> bool:
    """Take away what fakebroker does not fulfil and say so in the step; whether there was anything."""
    if "expect" not in step or not any("expected" in problem for problem in problems):
        return False
    del step["expect"]
    step["note"] = f"the recorded broker answered otherwise: {problems[0]}".replace("$", "")[:300]
    return True


def _text(made: Made, session: str) -> _Text:
    lines = [f"# Made of the recorded session {session}. The pauses are those of the session, rounded."]
    lines += [f"# {each}" for each in made.remarks]
    for key, value in made.data.items():
        if isinstance(value, Mapping) and key in ("topics", "actors", "config"):
            lines += [f"{key}:", *(f"  {_line(name)}: {_line(each)}" for name, each in value.items())]
        elif key != "timeline":
            lines.append(f"{key}: {_line(value)}")
    lines.append("timeline:")
    steps: dict[int, dict[str, Json]] = {}
    for step in made.data["timeline"]:
        if "repeat" in step:
            lines += [f"  - repeat: {step['repeat']}", "    steps:"]
            for each in step["steps"]:
                lines.append(f"      - {_line(each)}")
                steps[len(lines)] = each
        else:
            lines.append(f"  - {_line(step)}")
            steps[len(lines)] = step
    return _Text("\n".join(lines) + "\n", steps)


def _line(value: Json) -> str:
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

    from fakebroker.scenario.language.yaml_file import resolved

    def represented(dumper: Any, text: str) -> Any:
        try:
            is_text = not text or resolved(text) is text
        except ValueError:
            is_text = False
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, None if is_text else "'")

    made = type("Dumper", (yaml.SafeDumper,), {"ignore_aliases": lambda *_: True})
    made.add_representer(str, represented)  # type: ignore[attr-defined]
    return made
