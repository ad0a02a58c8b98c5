"""A scenario made of a session as a file: its text, and the proof that it passes."""

from typing import Any, NamedTuple

from fakebroker.scenarios.recording.exchanges import too_long
from fakebroker.scenarios.recording.scenario_text import Made, failures_of, text_of

Json = Any

MAX_ROUNDS = 5


class Written(NamedTuple):
    """A scenario's text, and what of it does not pass in fakebroker: a sentence for each step."""

    text: str
    problems: list[str]


def written(made: Made, session: str) -> Written:
    """The scenario as text. Expectations in which fakebroker differs from what was recorded become remarks.

    Raises FakebrokerError when the extra `scenario` is not installed.
    """
    heading = f"Made of the recorded session {session}. The pauses are those of the session, rounded."
    found = text_of(made, heading)
    if found.is_too_long:
        raise too_long(session)
    problems: list[str] = []
    for _ in range(MAX_ROUNDS):
        failed = failures_of(found.text, "session.yaml")
        problems = [problem for line in failed for problem in failed[line]]
        changed = [_without_expectation(found.steps[line], failed[line]) for line in failed if line in found.steps]
        if not any(changed):
            break
        found = text_of(made, heading)
    return Written(found.text, problems)


def _without_expectation(step: dict[str, Json], problems: list[str]) -> bool:
    """Take away what fakebroker does not fulfil and say so in the step; whether there was anything."""
    if "expect" not in step or not any("expected" in problem for problem in problems):
        return False
    del step["expect"]
    step["note"] = f"the recorded broker answered otherwise: {problems[0]}".replace("$", "")[:300]
    return True
