"""The large requests of bench/turns.py: how many steps they take, which is the same on every machine."""

from collections.abc import Callable

import pytest

from bench import turns

pytestmark = pytest.mark.slow

MIB = 1 << 20


@pytest.mark.parametrize(
    ("prepare", "least_steps"),
    [
        (lambda: turns.bombs(4, 120 * MIB, 50), 20),
        (lambda: turns.bombs(1, 120 * MIB, 1), 15),
        (lambda: turns.bombs(2, 120 * MIB, 1), 15),
        (lambda: turns.large_batch(0, 1024), 50),
        (lambda: turns.metadata(100_000), 100),
        (lambda: turns.auto_create(20_000), 20),
        (lambda: turns.delete(200_000), 50),
        (lambda: turns.create(5_000), 50),
        (lambda: turns.create(20_000), 10),
        (lambda: turns.create(200_000), 100),
        (lambda: turns.describe_configs(5_000), 100),
    ],
    ids=lambda value: "" if callable(value) else str(value),
)
def test_a_large_request_takes_many_steps(prepare: Callable[..., object], least_steps: int) -> None:
    """Its work is divided as finely as it was when the turns were measured, and an answer comes in the end."""
    result = turns.ask(*prepare())  # type: ignore[misc]
    assert result.steps >= least_steps
    assert result.answer
