"""Groups that were made for a commit which was refused: they exist, but nothing of them is written (OC-19).

Kafka's coordinator answers requests that read from its state at the last replicated offset. Such a group is part of
that state once anything else is written to the log.
"""


class UnseenGroups:
    """Ids of such groups, with the end of the log when they were made."""

    __slots__ = ("_made_at",)

    def __init__(self) -> None:
        self._made_at: dict[str, int] = {}

    def add(self, group_id: str, log_end_offset: int) -> None:
        """A group was made, and nothing was written."""
        self._made_at[group_id] = log_end_offset

    def forget(self, group_id: str) -> None:
        """The group is gone."""
        self._made_at.pop(group_id, None)

    def hides(self, group_id: str, high_watermark: int) -> bool:
        """Whether reads do not see the group yet."""
        made_at = self._made_at.get(group_id)
        return made_at is not None and high_watermark <= made_at
