"""Random runs that can be repeated: FAKEBROKER_SEED is where chance begins, FAKEBROKER_MODEL_MINUTES how long it lasts.

Without a seed (`make test`) every run is the same. `make random`, `make fuzz` and `make model` set one and print it.
"""

import os
import time

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

SEED = int(os.environ.get("FAKEBROKER_SEED") or 0)
IS_SEEDED = bool(os.environ.get("FAKEBROKER_SEED"))
IS_FUZZING = os.environ.get("FAKEBROKER_FUZZ") == "1"
MINUTES = float(os.environ.get("FAKEBROKER_MODEL_MINUTES") or 0)


def examples(count: int) -> settings:
    """So many examples of a property, a quarter without a seed: `make random` has all of them, other ones each time."""
    return settings(max_examples=count if IS_SEEDED or IS_FUZZING else max(count // 4, 5), deadline=None)


def examples_of_each() -> settings:
    """For a property of each of 154 messages: of each a third of the examples of one property, without a seed three."""
    return settings(max_examples=settings().max_examples // 3 if IS_SEEDED or IS_FUZZING else 3)


def model_settings(max_examples: int, steps: int) -> settings:
    """So many runs of a model, of so many steps: as long as they take, without explaining what they find.

    Without a seed it is a fifth of the runs: `make random` has all of them, other ones each time.
    """
    return settings(
        max_examples=max_examples if IS_SEEDED else max_examples // 5,
        stateful_step_count=steps,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )


def run_model(machine: type[RuleBasedStateMachine], short: settings, long: settings) -> int:
    """Run a model `short`, or for MINUTES as often as `long` allows, each time with the next seed; returns the runs.

    What fails says with which seed it fails at once.
    """
    if not MINUTES:
        _run_seeded(machine, SEED, short)
        return short.max_examples
    started, rounds = time.monotonic(), 0
    while rounds == 0 or time.monotonic() < started + 60 * MINUTES:
        _run_seeded(machine, SEED + rounds, settings(long, derandomize=False, database=None))
        rounds += 1
    return rounds * long.max_examples


def _run_seeded(machine: type[RuleBasedStateMachine], number: int, how: settings) -> None:
    try:
        run_state_machine_as_test(seed(number)(machine) if IS_SEEDED else machine, settings=how)
    except BaseException as error:
        if IS_SEEDED:
            error.add_note(f"the same again: make model FAKEBROKER_SEED={number}")
        raise
