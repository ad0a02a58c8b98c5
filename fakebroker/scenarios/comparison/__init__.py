"""The meaning of message fields: values that every run makes up anew are shown or compared by meaning.

`fields.py` says what each field means, `matching.py` compares two runs, and `shown.py` names ids for transcripts.
"""

from fakebroker.scenarios.comparison.matching import Around, Difference, Matching
from fakebroker.scenarios.comparison.shown import Meaning

__all__ = ["Around", "Difference", "Matching", "Meaning"]
