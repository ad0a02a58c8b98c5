"""Why the committed offsets of a group are kept or gone, and until when: data for programs, text for people (KIP-211).

The answers come from the expiry policy and from `evaluate` (`expiry.py`), which the cleanup uses too, applied to the
group as it is now. What has expired already is explained from what the cleanup recorded (`expirations.py`). All times
are milliseconds since the epoch; in texts they are UTC.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from fakebroker.broker.core.dates import date_text, span_text
from fakebroker.broker.core.explain.members import Reconciliation, explain_members
from fakebroker.broker.core.explain.pending_offsets import PendingExplanation, explain_pending
from fakebroker.broker.core.groups.modern.modern_group import ModernGroup
from fakebroker.broker.core.offsets.expiry import Aging, evaluate
from fakebroker.broker.core.offsets.expiry_policies import aging_of, configured_policy, policy_named
from fakebroker.broker.core.offsets.group_offsets import NEVER
from fakebroker.broker.core.topics import CONSUMER_OFFSETS
from fakebroker.protocol.records.offsets_topic import CommittedOffset

if TYPE_CHECKING:
    from fakebroker.broker.core.coordinator.shard import Shard
    from fakebroker.broker.core.groups.group import Group
    from fakebroker.broker.core.node import Node
    from fakebroker.broker.core.offsets.expirations import OffsetsExpired
    from fakebroker.protocol.instant import Instant


class OffsetExplanation(NamedTuple):
    """One committed offset: kept or expired, by which rule, what its retention counts from, when it is due."""

    topic: str
    partition: int
    offset: int
    committed_ms: int
    expired: bool
    rule: str
    base_ms: int | None  # what the retention counts from; None while the offset does not age
    due_ms: int | None  # None: not due as long as the group stays as it is
    pass_ms: int | None  # the cleanup that will remove it, or has removed it


class GroupExplanation(NamedTuple):
    """All committed and pending offsets of a group under an expiry policy. `str()` returns a readable table."""

    group_id: str
    state: str
    since_ms: int  # when the group entered the state; -1 unknown
    state_reason: str  # why it entered the state; "" for one that was loaded or never changed
    why: str
    policy: str  # the name of the expiry policy
    retention_ms: int
    offsets: tuple[OffsetExplanation, ...]
    pending: tuple[PendingExplanation, ...] = ()  # those of transactions that have not ended
    kind: str = ""  # "classic", "consumer", "share" or "streams"; "" for a group that is not there
    reconciliation: Reconciliation | None = None  # of a consumer, share or streams group

    def __str__(self) -> str:
        since = f" since {date_text(self.since_ms)}" if self.since_ms >= 0 else ""
        since += f" ({self.state_reason})" if self.state_reason else ""
        if self.kind == "share":  # it has no offsets that could expire
            parts = self.reconciliation.lines() if self.reconciliation else ()
            return "\n".join([f"group {self.group_id}: {self.state}{since}; a share group", *(f"  {p}" for p in parts)])
        rules = f"(policy {self.policy}, retention {span_text(self.retention_ms)})"
        lines = [f"group {self.group_id}: {self.state}{since}; {self.why} {rules}"]
        if self.reconciliation is not None:
            lines += [f"  {each}" for each in self.reconciliation.lines()]
        pending = [f"  {each}" for each in self.pending]
        if not self.offsets:
            return "\n".join([*lines, "  no committed offsets", *pending])
        rows = [_HEADINGS, *(_row(offset) for offset in self.offsets)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines += ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join(lines + pending)


def explain(node: "Node", group_id: str, now: "Instant", policy_name: str | None = None) -> GroupExplanation:
    """What becomes of the group's offsets if it stays as it is, and what became of those that have expired.

    Args:
        node: the broker that coordinates the group.
        policy_name: a key of `EXPIRY_POLICIES`; None: the policy in force.

    Raises InvalidArgument for a policy that does not exist, KafkaError if `node` cannot tell
    (COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR).
    """
    cluster = node.cluster
    if CONSUMER_OFFSETS not in cluster.topics:  # a look makes no internal topic: clients could see it
        chosen = policy_name or configured_policy(node.settings, cluster.behaviours)
        policy_named(chosen)
        retention_ms = node.settings.get_int("offsets.retention.minutes") * 60_000
        return _explain_missing_group(group_id, cluster.expirations.of(group_id), chosen, retention_ms)
    shard = node.coordinator.shard(group_id, now)
    cleanup = shard.cleanup
    chosen = policy_name or cleanup.policy_name
    policy = policy_named(chosen)
    group = shard.group(group_id)
    expirations = shard.cluster.expirations.of(group_id)
    if group is None:
        return _explain_missing_group(group_id, expirations, chosen, cleanup.retention_ms)
    aging = aging_of(group, policy, cleanup.retention_ms)
    offsets = [*_expired(expirations, group), *_kept(shard, group, aging, now)]
    return GroupExplanation(
        group_id,
        str(group.state),
        group.state_ms,
        group.state_reason,
        aging.why,
        chosen,
        cleanup.retention_ms,
        tuple(sorted(offsets, key=_by_partition)),
        tuple(explain_pending(cluster, group, now)),
        group.kind.value,
        explain_members(cluster, group, now) if isinstance(group, ModernGroup) else None,
    )


def side_by_side(explanations: Iterable[GroupExplanation]) -> str:
    """When each offset of one group is due under several policies, as text: one column for each explanation."""
    explanations = list(explanations)
    dues: dict[tuple[str, int, int], dict[str, str]] = {}
    for explanation in explanations:
        for each in explanation.offsets:
            row = dues.setdefault((each.topic, each.partition, each.offset), {})
            row[explanation.policy] = f"{_due(each)} {each.rule}"
    policies = [explanation.policy for explanation in explanations]
    rows = [("topic", "partition", "offset", *policies)]
    for (topic, partition, value), by_policy in dues.items():
        rows.append((topic, str(partition), str(value), *(by_policy.get(name, "") for name in policies)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


# -- data --------------------------------------------------------------------------------------------------------------


def _by_partition(explanation: OffsetExplanation) -> tuple[str, int]:
    return explanation.topic, explanation.partition


def _kept(shard: "Shard", group: "Group", aging: Aging, now: "Instant") -> Iterator[OffsetExplanation]:
    """The offsets that are there now. An open transaction defers an expiry until it has ended (EX-4)."""
    for stored in group.offsets:
        offset = CommittedOffset._make(stored)
        rule, base_ms, due_ms = evaluate(aging, stored)
        waits = due_ms < NEVER and group.offsets.is_pending(offset.topic, offset.partition)
        pass_ms = None if due_ms >= NEVER or waits else shard.cleanup.next_pass_ms(due_ms, now.wall_ms)
        yield OffsetExplanation(
            offset.topic,
            offset.partition,
            offset.offset,
            offset.commit_ms,
            False,
            "EX-4" if waits else rule,
            base_ms,
            None if due_ms >= NEVER else due_ms,
            pass_ms,
        )


def _expired(expirations: "list[OffsetsExpired]", group: "Group | None") -> Iterator[OffsetExplanation]:
    """The last expired offset of each partition that has no committed offset now."""
    last: dict[tuple[str, int], OffsetExplanation] = {}
    for expiration in expirations:
        for stored in expiration.offsets:
            offset = CommittedOffset._make(stored)
            partition = offset.topic, offset.partition
            if group is None or group.offsets.get(*partition) is None:
                rule, base_ms, due_ms = evaluate(expiration.aging, stored)
                last[partition] = OffsetExplanation(
                    *partition, offset.offset, offset.commit_ms, True, rule, base_ms, due_ms, expiration.pass_ms
                )
    yield from last.values()


def _explain_missing_group(
    group_id: str, expirations: "list[OffsetsExpired]", policy_name: str, retention_ms: int
) -> GroupExplanation:
    """The explanation of a group that is not there: what expired, if anything did."""
    if not expirations:
        return GroupExplanation(group_id, "Dead", -1, "", "the group does not exist", policy_name, retention_ms, ())
    end = expirations[-1]
    offsets = tuple(sorted(_expired(expirations, None), key=_by_partition))
    why = f"deleted by the cleanup at {date_text(end.pass_ms)}; before that, {end.aging.why}"
    return GroupExplanation(group_id, "Dead", end.pass_ms, "", why, policy_name, end.aging.retention_ms, offsets)


# -- text --------------------------------------------------------------------------------------------------------------

_HEADINGS = ("topic", "partition", "offset", "committed", "counts from", "due", "decision", "rule")


def _row(offset: OffsetExplanation) -> tuple[str, ...]:
    return (
        offset.topic,
        str(offset.partition),
        str(offset.offset),
        date_text(offset.committed_ms),
        "-" if offset.base_ms is None else date_text(offset.base_ms),
        _due(offset),
        _decision(offset),
        f"{offset.rule} {_MEANINGS.get(offset.rule, '')}".rstrip(),
    )


def _due(offset: OffsetExplanation) -> str:
    return "never" if offset.due_ms is None else date_text(offset.due_ms)


def _decision(offset: OffsetExplanation) -> str:
    if offset.expired:
        return f"expired {date_text(offset.pass_ms or 0)}"
    return "kept" if offset.pass_ms is None else f"expires {date_text(offset.pass_ms)}"


_MEANINGS = {
    "EX-2": "the commit has its own expire timestamp",
    "EX-4": "an open transaction holds it",
    "EX-5": "a later commit does not restart the retention",
    "EX-6": "the expire timestamp is ignored while the group is subscribed",
    "EX-14": "KIP-211 as written",
    "EX-17": "before KIP-211",
    "EX-18": "KIP-211 as first released",
}
