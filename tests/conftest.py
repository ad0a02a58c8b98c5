"""Profiles of the property tests: every run is the same unless FAKEBROKER_SEED or FAKEBROKER_FUZZ=1 is set."""

from hypothesis import settings

from tests.support.chance import IS_FUZZING, IS_SEEDED

settings.register_profile("default", max_examples=50, deadline=None, derandomize=True)
settings.register_profile("random", max_examples=50, deadline=None, database=None, print_blob=True)
settings.register_profile("fuzz", max_examples=5000, deadline=None, print_blob=True)
settings.load_profile("fuzz" if IS_FUZZING else "random" if IS_SEEDED else "default")
