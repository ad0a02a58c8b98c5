"""OffsetCommit and OffsetFetch with member epochs, as steps of a random history."""

from tests.group_histories.history import GroupHistory


class OffsetSteps(GroupHistory):
    """Steps for kinds of groups whose members commit offsets."""

    def claimed(self) -> list[tuple[str, int]]:
        """A member id with the epochs that it might claim: the right one first."""
        raise NotImplementedError

    def commit(self) -> None:
        """By a member with its epoch, an older one, or somebody else."""
        member_id, epoch = self.chance.choice(self.claimed())
        member_id = self.chance.choice([member_id] * 5 + ["", "stranger"])
        topic = self.chance.choice(list(self.topics))
        partitions = self.chance.sample(range(self.topics[topic]), self.chance.choice([1, min(2, self.topics[topic])]))
        answer = self.client.request(
            "OffsetCommit", 9, group_id=self.group_id, generation_id_or_member_epoch=epoch, member_id=member_id,
            topics=[{"name": topic, "partitions": [(each, 5, -1, -1, "") for each in partitions]}],
        )  # fmt: skip
        rows = sorted(map(tuple, answer.topics[0].partitions))
        self.tell(f"OffsetCommit {member_id} {epoch} {topic} {partitions}", rows)

    def fetch_offsets(self) -> None:
        """By a member, and without one."""
        asked: list[tuple[str | None, int]] = [(None, -1), *self.claimed(), ("", 1)]
        member_id, epoch = self.chance.choice(asked)
        answer = self.client.request(
            "OffsetFetch", 9, require_stable=False,
            groups=[{"group_id": self.group_id, "member_id": member_id, "member_epoch": epoch, "topics": None}],
        )  # fmt: skip
        (group,) = answer.groups
        rows = sorted((topic.name, *row) for topic in group.topics for row in map(tuple, topic.partitions))
        self.tell(f"OffsetFetch {member_id} {epoch}", (group.error_code, rows))
