"""What holds for all tests: how many examples properties have, which tests run alone, what the collector leaves out.

`make test` is the same every time and has few examples; `make random` has many, other ones each time (FAKEBROKER_SEED).
"""

import gc

import pytest
from hypothesis import settings

from tests.support.alone import ALONE
from tests.support.chance import IS_FUZZING, IS_SEEDED

settings.register_profile("default", max_examples=15, deadline=None, derandomize=True)
settings.register_profile("random", max_examples=50, deadline=None, database=None, print_blob=True)
settings.register_profile("fuzz", max_examples=1000, deadline=None, print_blob=True)
settings.load_profile("fuzz" if IS_FUZZING else "random" if IS_SEEDED else "default")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of tests/alone.txt."""
    names = {each.test for each in ALONE}
    for item in items:
        if item.nodeid in names:
            item.add_marker(pytest.mark.alone)


def pytest_collection_finish() -> None:
    """Take what was imported and collected out of the cycle collector's sight: it lives as long as the run."""
    gc.freeze()
