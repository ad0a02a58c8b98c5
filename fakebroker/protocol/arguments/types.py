"""Types that the signatures of several powers use: a type for type checkers, with the kind that is checked."""

from collections.abc import Mapping
from typing import Annotated, Final

from fakebroker.protocol.arguments.kinds import NAME, SECRET, Number, Whole
from fakebroker.protocol.arguments.structures import SecretTable

LONGEST_S: Final = 10**9  # of times in seconds, some thirty years: what is longer was meant to be milliseconds

Count = Annotated[int, Whole(0)]
"""A number of things, 0 or more; also a sequence number or an epoch."""
CountFrom1 = Annotated[int, Whole(1)]
Offset = Annotated[int, Whole(0)]
"""The offset of a record."""
Seconds = Annotated[float, Number(0, LONGEST_S, "seconds")]
"""A time that something takes in the broker."""
TIMEOUT: Final = Number(0, None, "seconds", may_be_infinite=True)
TimeoutS = Annotated[float, TIMEOUT]
"""How long a wait may take; infinite is for ever."""
Amount = Annotated[float, Number(0)]
"""An amount of time in the unit of its name."""
Name = Annotated[str, NAME]
"""A text with something in it."""
Secret = Annotated[str, SECRET]
"""A text with something in it that no error shows."""
Passwords = Annotated[Mapping[str, str], SecretTable()]
"""Passwords by user."""
