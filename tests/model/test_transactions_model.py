"""Transactions under arbitrary applications, crashes and moves, against a simple model of what counts.

Hypothesis makes up instances of applications and zombies of them, timeouts, clocks that jump, coordinators and leaders
that move, nodes that die. No committed value or offset is lost, no aborted one is ever read as committed, nothing is
there twice, and every transaction ends. A failing run is printed as a dialogue, with what clients did and got.
"""

from typing import Any

import pytest
from hypothesis import note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.types import ReleaseName
from tests.model.transactional_client import GROUPS, TIMEOUT_MS, TRANSACTIONS, Application, Ledger, Outcome
from tests.model.transactions_world import (
    NODES,
    OFFSETS_TOPIC,
    PARTITIONS,
    STATE_TOPIC,
    TOPIC,
    Reader,
    World,
)
from tests.support.chance import MINUTES, model_settings, run_model

IDS = ("a", "b", "c")
DAY_MS = 86_400_000
UNSTABLE_OFFSET_COMMIT = ErrorCode.UNSTABLE_OFFSET_COMMIT

PLACES = st.sampled_from([(STATE_TOPIC, 2), (STATE_TOPIC, 2), (OFFSETS_TOPIC, 2), (TOPIC, PARTITIONS)])

requests_sent = 0


class TransactionsMachine(RuleBasedStateMachine):
    """Three transactional ids, each with instances that replace each other, and one topic."""

    @initialize(
        as_release=st.sampled_from(["4.3", "4.3", "3.9"]),
        markers_delay_ms=st.sampled_from([0, 0, 300]),
        least_in_sync=st.sampled_from([1, 2]),
        newer=st.sets(st.sampled_from(IDS)),
    )
    def begin(self, as_release: ReleaseName, markers_delay_ms: int, least_in_sync: int, newer: set[str]) -> None:
        config: dict[str, object] = {
            "transaction.state.log.num.partitions": 2,
            "transaction.state.log.min.isr": least_in_sync,
            "offsets.topic.num.partitions": 2,
            "offsets.retention.minutes": 2**31 - 1,
            "log.retention.ms": -1,
            "fakebroker.transaction.markers.delay.ms": markers_delay_ms,
        }
        self.world = World(config, as_release)
        self.newer = newer if as_release == "4.3" else set()
        self.ledger = Ledger()
        self.instances = 0
        self.current: dict[str, Application] = {}
        self.zombies: list[Application] = []
        self.readers = [Reader(self.world, (TOPIC, index)) for index in range(PARTITIONS)]
        self.checked = [0] * PARTITIONS
        self.offsets = 0
        self.seen_offsets: dict[str, int] = {}
        for transactional_id in IDS[:2]:
            self._start(transactional_id)

    # -- applications --------------------------------------------------------------------------------------------------

    @rule(transactional_id=st.sampled_from(IDS))
    def start(self, transactional_id: str) -> None:
        """A new instance, as after a crash; the old one does not know."""
        self._start(transactional_id)

    def _start(self, transactional_id: str) -> None:
        self.instances += 1
        is_tv2 = transactional_id in self.newer
        made = Application(self.world, self.ledger, transactional_id, self.instances, is_tv2=is_tv2)
        before = self.current.pop(transactional_id, None)
        if before is not None:
            self.zombies.append(before)
        if made.start():
            for each in self.zombies:
                if each.id == transactional_id:
                    each.replaced()
        self.current[transactional_id] = made

    @rule(transactional_id=st.sampled_from(IDS), partition=st.integers(0, PARTITIONS - 1), count=st.integers(1, 3))
    def send(self, transactional_id: str, partition: int, count: int) -> None:
        """A current instance sends; one that learned that it is over is started anew."""
        if application := self._ready(transactional_id):
            application.send(partition, count)

    @rule(transactional_id=st.sampled_from(IDS))
    def commit_offset(self, transactional_id: str) -> None:
        self.offsets += 1
        if application := self._ready(transactional_id):
            application.commit_offset(self.offsets)

    @rule(transactional_id=st.sampled_from(IDS), commit=st.sampled_from([True, True, False]))
    def end(self, transactional_id: str, commit: bool) -> None:
        if application := self._ready(transactional_id):
            application.end(commit=commit)

    @rule(
        transactional_id=st.sampled_from(IDS),
        commit=st.sampled_from([True, True, True, False]),
        count=st.integers(1, 4),
    )
    def whole_transaction(self, transactional_id: str, commit: bool, count: int) -> None:
        """As a well-behaved application does them, one after the other."""
        for partition in range(count):
            self.send(transactional_id, partition % PARTITIONS, 1)
        self.commit_offset(transactional_id)
        self.end(transactional_id, commit)

    @precondition(lambda self: self.zombies)
    @rule(data=st.data(), what=st.sampled_from(["send", "commit_offset", "commit", "abort"]))
    def zombie_acts(self, data: st.DataObject, what: str) -> None:
        """An instance that was replaced, or that nobody knows of any more, wakes up."""
        zombie = data.draw(st.sampled_from(self.zombies))
        if zombie.producer_id < 0:
            return
        if what == "send":
            zombie.send(0, 1)
        elif what == "commit_offset":
            self.offsets += 1
            zombie.commit_offset(self.offsets)
        else:
            zombie.end(commit=what == "commit")

    def _ready(self, transactional_id: str) -> Application | None:
        """The current instance of an id, or a new one if it cannot go on; None if that could not start."""
        if transactional_id not in self.current or not self.current[transactional_id].is_ready:
            self._start(transactional_id)
        current = self.current[transactional_id]
        return current if current.is_ready else None

    @rule(partition=st.integers(0, PARTITIONS - 1))
    def send_without_transaction(self, partition: int) -> None:
        """Tried once: without a producer id, a second try could be a second record."""
        leader = self.world.leader((TOPIC, partition))
        if leader is None:
            return
        value = self.ledger.new_value(None)
        data = build_batch([Record(0, self.world.broker.clock.now_ms, None, value)], leader_epoch=-1)
        answer = self.world.ask(
            "plain", leader, "Produce", 9, acks=-1, timeout_ms=1500,
            topic_data=[{"name": TOPIC, "partition_data": [{"index": partition, "records": data}]}],
        )  # fmt: skip
        if answer is not None and answer.responses[0].partition_responses[0].error_code == 0:
            self.ledger.plain.add(value)

    # -- the broker ----------------------------------------------------------------------------------------------------

    @rule(ms=st.sampled_from([1, 100, 1000, 5000, 12_000]))
    def time_passes(self, ms: int) -> None:
        self.world.sleep(ms)

    @rule(ms=st.sampled_from([1000, TIMEOUT_MS, 3 * TIMEOUT_MS, DAY_MS, 8 * DAY_MS]))
    def clock_jumps(self, ms: int) -> None:
        self.world.advance(ms)

    @rule(ms=st.sampled_from([500, TIMEOUT_MS, DAY_MS]))
    def clock_goes_back(self, ms: int) -> None:
        self.world.step_back(ms)

    @rule(place=PLACES, index=st.integers(0, 1), to=st.sampled_from(NODES))
    def leader_moves(self, place: tuple[str, int], index: int, to: int) -> None:
        """Either coordinator, or a partition."""
        self.world.move(place[0], index % place[1], to)

    @rule(place=PLACES, index=st.integers(0, 1), for_ms=st.sampled_from([200, 3000]))
    def leader_becomes_a_zombie(self, place: tuple[str, int], index: int, for_ms: int) -> None:
        """It is replaced, and goes on by what it knew."""
        self.world.become_zombie(place[0], index % place[1], for_ms)

    @rule(
        node_id=st.sampled_from(NODES),
        power=st.sampled_from(["stop", "kill", "freeze", "isolate", "start", "start", "thaw", "heal"]),
    )
    def node_changes(self, node_id: int, power: str) -> None:
        self.world.change_node(node_id, power)

    @rule(transactional_id=st.sampled_from(IDS))
    def operator_aborts(self, transactional_id: str) -> None:
        self.world.abort(transactional_id)

    # -- what must be --------------------------------------------------------------------------------------------------

    @rule()
    def read(self) -> None:
        for reader in self.readers:
            reader.read()

    @rule(transactional_id=st.sampled_from(IDS))
    def fetch_offsets(self, transactional_id: str) -> None:
        self._committed_offset(f"group-{transactional_id}", require_stable=False)

    @invariant()
    def all_is_well(self) -> None:
        if not hasattr(self, "world"):
            return
        try:
            self._check()
        except AssertionError:
            note("The dialogue of this run:\n" + self.world.dialogue())
            raise

    def _check(self) -> None:
        """What readers of committed records got is of transactions that were committed, as far as anybody knows."""
        assert self.world.broker.errors == []
        for index, reader in enumerate(self.readers):
            for value in reader.values[self.checked[index] :]:
                transaction = self.ledger.of_value[value]
                if transaction is None:
                    continue
                if transaction.outcome is Outcome.UNKNOWN:
                    transaction.outcome = Outcome.COMMITTED
                assert transaction.outcome is Outcome.COMMITTED, f"{value!r} of {transaction} was read"
            self.checked[index] = len(reader.values)

    def _committed_offset(self, group_id: str, *, require_stable: bool) -> Any:
        """The offset of a group; it is of a transaction that was committed, and never goes back."""
        node_id = self.world.coordinator("offsets", group_id, GROUPS)
        if node_id is None:
            return None
        answer = self.world.ask(
            "offsets", node_id, "OffsetFetch", 7, group_id=group_id, require_stable=require_stable,
            topics=[{"name": TOPIC, "partition_indexes": [0]}],
        )  # fmt: skip
        if answer is None or answer.error_code != 0:
            return None
        _, offset, _, _, code = tuple(answer.topics[0].partitions[0])
        if code != 0:
            assert require_stable
            assert code == UNSTABLE_OFFSET_COMMIT
            return None
        by_offset = {each.offset: each for each in self.ledger.offsets.get(group_id, [])}
        if offset >= 0:
            assert offset in by_offset, f"offset {offset} of {group_id} was never committed"
            transaction = by_offset[offset]
            if transaction.outcome is Outcome.UNKNOWN:
                transaction.outcome = Outcome.COMMITTED
            assert transaction.outcome is Outcome.COMMITTED, f"offset {offset} of {group_id}, of {transaction}"
        assert offset >= self.seen_offsets.get(group_id, -1), f"the offset of {group_id} went back to {offset}"
        self.seen_offsets[group_id] = offset
        return offset

    def teardown(self) -> None:
        """Everything is healed; whatever was not ended is aborted by its timeout."""
        global requests_sent
        if not hasattr(self, "world"):
            return
        try:
            self.world.heal()
            self.world.advance(self.world.set_back_ms + 2 * TIMEOUT_MS)  # a timeout counts from the start's time of day
            self.world.sleep(30_000)
            self._check_ended()
            self._check_values()
            self._check_offsets()
        except AssertionError:
            note("The dialogue of this run:\n" + self.world.dialogue())
            raise
        finally:
            requests_sent += self.world.requests
            self.world.broker.stop()

    def _check_ended(self) -> None:
        """No transaction is open or on its way, and nothing holds up readers."""
        for transactional_id in IDS:
            node_id = self.world.coordinator("admin", transactional_id, TRANSACTIONS)
            assert node_id is not None, f"there is no coordinator of {transactional_id}"
            answer = self.world.ask("admin", node_id, "DescribeTransactions", 0, transactional_ids=[transactional_id])
            state = answer.transaction_states[0].transaction_state
            assert state in ("", "Empty", "CompleteCommit", "CompleteAbort"), f"{transactional_id} is in {state}"
        for reader in self.readers:
            found = self.world.fetch("admin", reader.place, 0, 1)
            assert found.last_stable_offset == found.high_watermark, f"{reader.place} has an open transaction"

    def _check_values(self) -> None:
        """Each value of a committed transaction was read once, and nobody reads anything else or in another order."""
        for reader in self.readers:
            assert reader.read(), f"{reader.place} cannot be read"
            again = Reader(self.world, reader.place)
            assert again.read()
            assert again.values == reader.values, "who reads later reads something else"
        self._check()
        read = [value for reader in self.readers for value in reader.values]
        assert len(read) == len(set(read)), f"there twice: {[each for each in read if read.count(each) > 1]}"
        assert set(read) >= self.ledger.plain, "a value of no transaction is lost"
        for transaction in {each for each in self.ledger.of_value.values() if each is not None}:
            if transaction.outcome is Outcome.COMMITTED:
                assert set(transaction.values) <= set(read), f"lost: a value of {transaction}"

    def _check_offsets(self) -> None:
        """The offset of each group is that of the last committed transaction that has one."""
        for group_id, transactions in self.ledger.offsets.items():
            found = self._committed_offset(group_id, require_stable=True)
            assert found is not None, f"the offsets of {group_id} are not stable"
            committed = [each.offset for each in transactions if each.outcome is Outcome.COMMITTED]
            unknown = [each.offset for each in transactions if each.outcome is Outcome.UNKNOWN]
            newest = max(committed, default=-1, key=lambda offset: offset or 0)
            assert found == newest or found in unknown, f"{group_id} has {found}"


SHORT = model_settings(max_examples=40, steps=30)


@pytest.mark.random
@pytest.mark.timeout(0 if MINUTES else 600)  # a failure takes its time to shrink
@pytest.mark.rules("TX-2", "TX-3", "TX-5", "TX-23", "TX-25", "TO-3", "PI-10", "FT-14", "FT-15")
def test_transactions_under_arbitrary_applications() -> None:
    """The invariants hold whatever happens; with FAKEBROKER_MODEL_MINUTES for that long."""
    runs = run_model(TransactionsMachine, SHORT, settings(SHORT, max_examples=25, stateful_step_count=80))
    if MINUTES:
        print(f"\n{requests_sent:,} requests in {runs:,} runs over {MINUTES:g} minutes: nothing found")
