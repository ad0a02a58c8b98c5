"""What the fields of messages mean: what every run makes up anew, shown or compared by meaning."""

from fakebroker.scenarios.comparison.matching import Around, Difference, Matching
from fakebroker.scenarios.comparison.shown import Meaning

__all__ = ["Around", "Difference", "Matching", "Meaning"]
