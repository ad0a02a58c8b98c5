"""Who leads a partition and who is in sync when brokers go and come back (CLU-6, CLU-22, CLU-26, CLU-30, KIP-966).

What Kafka's controller decides: `ReplicationControlManager`, `PartitionChangeBuilder`. All brokers share one log here,
so a replica is in sync as soon as its broker is alive and the partition has a leader. Of a broker that does not fetch
it is known how far it had come (`Node.log_ends`): if it leads all the same, the log ends there.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.topics import Partition


MOVES_PER_STEP: Final = 1_000
"""New leaders that clients may have elected in one step; see `cost_of_move`."""


def cost_of_move(partition: "Partition") -> int:
    """How many moves one of a partition counts as: a coordinator that moves reads its log, which is a step."""
    return MOVES_PER_STEP + 1 if partition.topic.is_internal and partition.has_log else 1


def broker_stopped(partition: "Partition", node_id: int, now: Instant) -> None:
    """The broker of a replica is gone: it is not in sync any more; if it led, another replica is elected.

    The leader epoch rises only if the leader changes, also to none (CLU-24).
    """
    _set_isr(partition, [each for each in partition.isr if each != node_id])
    if partition.leader == node_id:
        elect(partition, now)
    partition.update_high_watermark(now)


def broker_started(partition: "Partition", now: Instant) -> None:
    """The broker of a replica is back: it leads if the partition has no leader and it may, else it follows (CLU-26).

    Nothing gives it the leadership back that it had; ElectLeaders can (CLU-6).
    """
    if partition.leader < 0:
        elect(partition, now)
    _catch_up(partition)
    partition.update_high_watermark(now)


def elect(partition: "Partition", now: Instant) -> None:
    """A new leader, or none: the first live replica in sync, else the first live one that is an eligible leader, else,
    with `unclean.leader.election.enable`, the first live one.
    """
    live = partition.live_replicas
    is_unclean = partition.topic.config.get_bool("unclean.leader.election.enable")
    candidates = _trusted(partition, live) or (live if is_unclean else [])
    _lead(partition, candidates[0] if candidates else -1, now)


def elect_preferred(partition: "Partition", now: Instant) -> bool:
    """Let the first replica lead. False if its broker is down or it is not in sync; the leader stays then (CLU-70)."""
    preferred = partition.replicas[0]
    if preferred not in partition.isr or preferred not in partition.live_replicas:
        return False
    _lead(partition, preferred, now)
    return True


def elect_unclean(partition: "Partition", now: Instant) -> bool:
    """Without a leader: let any live replica lead, one that has all records first. False if none lives (CLU-70)."""
    live = partition.live_replicas
    if not live:
        return False
    _lead(partition, (_trusted(partition, live) or live)[0], now)
    _catch_up(partition)
    partition.update_high_watermark(now)
    return True


def move_leader(partition: "Partition", to: int, now: Instant) -> None:
    """Let a replica lead that is alive and in sync."""
    _lead(partition, to, now)
    _catch_up(partition)
    partition.update_high_watermark(now)


def reassign(partition: "Partition", replicas: Sequence[int], now: Instant) -> None:
    """Move to other brokers, at once (KIP-455).

    Another leader, or replicas taken away, begin a leader epoch (CLU-24).
    """
    loses_replicas = any(node_id not in replicas for node_id in partition.replicas)
    partition.replicas = list(replicas)
    partition.topic.cluster.metadata_changed(partition)
    partition.out_of_sync = [node_id for node_id in partition.out_of_sync if node_id in replicas]
    partition.offline = [node_id for node_id in partition.offline if node_id in replicas]
    live = partition.live_replicas
    in_sync = [node_id for node_id in live if node_id not in partition.out_of_sync]
    # Without a live replica all are trusted, the log being one; Kafka would finish the move when one is back.
    partition.elr, partition.last_known_elr = [], []
    partition.isr = in_sync or live
    if not partition.isr and partition.topic.cluster.behaviours.has_eligible_leader_replicas:
        partition.elr = list(replicas)
    elif not partition.isr:
        partition.isr = list(replicas)
    if partition.leader not in live:
        elect(partition, now)
    elif loses_replicas:
        partition.begin_epoch(partition.leader)
    if loses_replicas:
        partition.wake(now)  # also without a leader before and after: fetches wait at followers, too
    partition.update_high_watermark(now)


def set_in_sync(partition: "Partition", in_sync: Sequence[int], now: Instant) -> None:
    """A test says which replicas are in sync; the others stay out until it says something else."""
    partition.out_of_sync = [node_id for node_id in partition.replicas if node_id not in in_sync]
    _set_isr(partition, list(in_sync))
    partition.update_high_watermark(now)


def _trusted(partition: "Partition", live: Sequence[int]) -> list[int]:
    """Those of the live replicas that have every acknowledged record, those in sync before eligible leaders."""
    in_sync = [node_id for node_id in live if node_id in partition.isr]
    return in_sync or [node_id for node_id in live if node_id in partition.elr]


def _lead(partition: "Partition", node_id: int, now: Instant) -> None:
    """A leader that was not in sync is alone in sync at first: the others follow it (KIP-460, KIP-966).

    What it had not fetched when its broker went is lost.
    """
    if node_id >= 0 and node_id not in partition.isr:
        _set_isr(partition, [node_id])
    node = partition.topic.cluster.nodes.get(node_id)
    if node is not None and node_id != partition.leader and partition.has_log and partition in node.log_ends:
        partition.log.truncate(node.log_ends[partition], now)
    partition.lead(node_id, now)


def _catch_up(partition: "Partition") -> None:
    """Every replica that fetches is in sync, if the partition has a leader; the newest are the last in the list."""
    if partition.leader < 0:
        return
    cluster = partition.topic.cluster
    behind = [each for each in partition.live_replicas if each not in partition.isr]
    caught_up = [each for each in behind if cluster.nodes[each].is_replicating and each not in partition.out_of_sync]
    if caught_up:
        _set_isr(partition, [*partition.isr, *caught_up])


def _set_isr(partition: "Partition", isr: list[int]) -> None:
    """Change the in-sync set and what follows from it; the caller updates the high watermark after that.

    With eligible leader replicas (KIP-966) those that leave it while it is smaller than `min.insync.replicas` stay
    eligible, and the last leader is remembered. Without them the last replica in sync never leaves the set.
    """
    partition.topic.cluster.metadata_changed(partition)
    if not partition.topic.cluster.behaviours.has_eligible_leader_replicas:
        partition.isr = isr or partition.isr
        return
    former = [*partition.elr, *partition.isr]
    partition.isr = isr
    if len(isr) >= partition.min_isr:
        partition.elr, partition.last_known_elr = [], []
    else:
        partition.elr = [node_id for node_id in dict.fromkeys(former) if node_id not in isr]
        if not isr:
            partition.last_known_elr = [partition.leader]
