"""Profiles of the property tests: "default" is quick and the same in every run, FAKEBROKER_FUZZ=1 looks for more."""

import os

from hypothesis import settings

settings.register_profile("default", max_examples=50, deadline=None, derandomize=True)
settings.register_profile("fuzz", max_examples=5000, deadline=None, print_blob=True)
settings.load_profile("fuzz" if os.environ.get("FAKEBROKER_FUZZ") == "1" else "default")
