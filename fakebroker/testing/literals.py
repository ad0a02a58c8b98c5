"""Texts that arguments of the Python API may have, for editors and type checkers, and for the check of a call."""

from typing import Annotated, Literal, get_args

from fakebroker.broker.engine.faults.actions import FaultAction, FaultMoment
from fakebroker.broker.release import UnknownRelease
from fakebroker.protocol.arguments.kinds import Choice
from fakebroker.protocol.wire.api_names import ApiName

__all__ = [
    "ApiName",
    "FaultAction",
    "FaultMoment",
    "GroupKind",
    "GroupState",
    "Profile",
    "ReleaseName",
    "TransactionState",
]

GroupKind = Literal["classic", "consumer", "share", "streams"]
"""The kind of a group."""
GroupState = Literal[
    "Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Assigning", "Reconciling", "NotReady"
]
"""The state of a group of any kind."""
Profile = Literal["kafka", "test"]
"""A set of default settings."""
_ReleaseName = Literal[
    "4.3",
    "4.2",
    "4.1",
    "4.0",
    "3.9",
    "3.6",
    "3.3",
    "2.8",
    "2.4",
    "2.1",
    "2.0",
    "1.1",
    "1.0",
    "4.3.1",
    "4.2.0",
    "4.1.1",
    "4.0.0",
    "3.9.1",
    "3.6.2",
    "3.3.2",
    "2.8.2",
    "2.4.1",
    "2.1.1",
    "2.0.1",
    "1.1.1",
    "1.0.2",
]
ReleaseName = Annotated[_ReleaseName, Choice(get_args(_ReleaseName), error=UnknownRelease)]
"""A Kafka release that can be emulated; without its last number it is the newest of its line."""
TransactionState = Literal[
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
]
"""The state of a transaction."""
