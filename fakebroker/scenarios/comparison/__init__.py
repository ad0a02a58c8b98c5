"""The meaning of message fields: values that every run makes up anew are shown or compared by meaning.

`fields.py` says what each field means, and `walk.py` finds where two values differ. `matching.py` compares two runs,
`references.py` compares an answer with that of a dialogue, and `shown.py` names ids for transcripts.
"""

from fakebroker.scenarios.comparison.matching import Around, Matching
from fakebroker.scenarios.comparison.shown import Meaning
from fakebroker.scenarios.comparison.walk import Difference

__all__ = ["Around", "Difference", "Matching", "Meaning"]
