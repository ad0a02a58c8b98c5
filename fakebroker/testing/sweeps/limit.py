"""How long one run of a sweep may take before it counts as hung."""

LEAST_TIMEOUT_S, TIMES_FIRST = 30.0, 10
AGAIN_S = 10.0  # a run that was given up and is still there is given up again


def limit_s(first_run_s: float) -> float:
    """The limit in seconds, from how long the run without a fault took."""
    return max(LEAST_TIMEOUT_S, TIMES_FIRST * first_run_s)
