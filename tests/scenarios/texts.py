"""Scenario texts for tests: steps with what has to stand around them."""

from collections.abc import Mapping
from typing import Any

import pytest

from fakebroker.scenarios.errors import ScenarioError
from fakebroker.scenarios.language.reading import read_scenario_text
from fakebroker.scenarios.script import Step

HEAD = "about: A test.\nactors: [a, b]\ntopics: {orders: {partitions: 2}}\ntimeline:\n"
FIRST_LINE = HEAD.count("\n") + 1  # of the steps


def with_steps(*lines: str, head: str = HEAD) -> str:
    """A scenario with these steps, one in each line from FIRST_LINE on."""
    return head + "".join(f"  - {line}\n" for line in lines)


def steps_of(*lines: str, parameters: Mapping[str, Any] | None = None, head: str = HEAD) -> list[Step]:
    """The steps of such a scenario."""
    return list(read_scenario_text(with_steps(*lines, head=head), parameters=parameters).timeline)


def step_of(line: str) -> Any:
    """The only step of such a scenario."""
    (step,) = steps_of(line)
    return step


def problems_of(text: str | bytes) -> list[str]:
    """What is wrong with a text."""
    with pytest.raises(ScenarioError) as caught:
        read_scenario_text(text, "f.yaml")
    assert str(caught.value) == "\n".join(map(str, caught.value.problems))
    return [str(problem) for problem in caught.value.problems]


def problem_of(line: str) -> str:
    """What is wrong with the only step of a scenario, without the place."""
    (problem,) = problems_of(with_steps(line))
    place, _, rest = problem.partition(": ")
    assert place == f"f.yaml:{FIRST_LINE}"
    return rest
