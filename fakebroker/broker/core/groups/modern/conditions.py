"""What the states of consumer and streams groups follow from (CGE-20, STG-1); the tables say in which order."""

from collections.abc import Sized
from typing import Protocol


class Reconciling(Protocol):
    """What the conditions look at in a group."""

    group_epoch: int
    assignment_epoch: int

    @property
    def members(self) -> Sized:
        """Its members, those that are away too."""

    def all_have_their_target(self) -> bool:
        """Whether every member has all that the target assignment gives it."""


def has_no_members(group: Reconciling) -> bool:
    """The group has no member."""
    return not group.members


def wants_another_target(group: Reconciling) -> bool:
    """The target assignment is that of an earlier group epoch."""
    return group.group_epoch > group.assignment_epoch


def waits_for_members(group: Reconciling) -> bool:
    """A member has not reached its target assignment."""
    return not group.all_have_their_target()


def has_what_it_wants(group: Reconciling) -> bool:  # noqa: ARG001
    """Every member has its target assignment."""
    return True
