"""Drafts that never shipped: what each answers, on a listener of its own, and that the released protocol differs."""

from struct import pack
from typing import Any

import pytest

from fakebroker.broker.apis.dialects import kip_88_draft
from fakebroker.broker.engine.engine import Engine
from fakebroker.broker.engine.journal import Journal
from fakebroker.client.connection import ClientConnection
from fakebroker.protocol.errors import ErrorCode, FakebrokerError, WireError
from fakebroker.protocol.listeners import Address, Listener
from fakebroker.protocol.pace import finished
from fakebroker.protocol.schema import Message
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.dialects import DIALECTS, overlays_of, response_to, versions_with
from fakebroker.protocol.wire.drafts import (
    Kip17OffsetFetchRequest,
    Kip17OffsetFetchResponse,
    Kip17RequestTopic,
    Kip17ResponseTopic,
    Kip88DescribeGroupsRequest,
    Kip88DescribeGroupsResponse,
    Kip88Group,
    Kip88Member,
    Kip211OffsetCommitRequest,
    Kip211RequestTopic,
)
from fakebroker.protocol.wire.messages.api_versions import ApiVersionsRequest
from fakebroker.protocol.wire.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from fakebroker.protocol.wire.messages.find_coordinator import FindCoordinatorRequest
from fakebroker.protocol.wire.messages.metadata import MetadataRequest
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequest
from fakebroker.protocol.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseTopic,
)
from fakebroker.protocol.wire.registry import api
from tests.support.logs import Pairs
from tests.support.offsets import WEEK, OffsetsCluster
from tests.support.time import DAY

NO_PARTITION = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


class DialectCluster(OffsetsCluster):
    """The lab with a plain listener, and one for each dialect."""

    def __init__(self, as_release: str = "3.9") -> None:
        super().__init__(as_release)
        names: tuple[frozenset[str], ...] = (
            frozenset(),
            *(frozenset({name}) for name in DIALECTS),
            frozenset(DIALECTS),
        )
        self.listeners = [
            Listener(1, "127.0.0.1", 9092 + n, Address("127.0.0.1", 9092 + n), dialects)
            for n, dialects in enumerate(names)
        ]
        self.engine = Engine(self.cluster, self.listeners, Journal(), self.now)

    def talk(self, listener: Listener, request: Message, version: int) -> Any:
        """One request on a connection of its own; None if it was closed instead of answered."""
        client = ClientConnection("c")
        connection = self.engine.connect(listener, "/127.0.0.1", Address("127.0.0.1", listener.port), self.now)
        pending = client.send(request, version)
        connection.receive(client.data_to_send(), self.now)
        client.receive(b"".join(connection.data_to_send()))
        return pending.result() if pending.is_done else None

    def of(self, *dialects: str) -> Listener:
        return next(listener for listener in self.listeners if listener.dialects == frozenset(dialects))


def kip_17(*indexes: int, topic: str = "t", group_id: str = "g") -> Kip17OffsetFetchRequest:
    return Kip17OffsetFetchRequest(
        group_id=group_id, topics=[Kip17RequestTopic(name=topic, partition_indexes=list(indexes))]
    )


@pytest.mark.rules("DR-1", "DR-9")
def test_kip_17_tells_the_high_watermark() -> None:
    """Beside each offset stands the high watermark: also without a commit, -1 without a partition."""
    lab = DialectCluster()
    lab.commit({("t", 0): 5}, metadata="m")
    lab.topics["t"].partitions[1].log.append_records(Pairs(*[(None, b"v")] * 3), lab.now)

    answer = lab.talk(lab.of("kip-17"), kip_17(0, 1, 99), 2)

    assert isinstance(answer, Kip17OffsetFetchResponse)
    assert answer.topics[0].partitions == [(0, 5, "m", 0, 0), (1, -1, "", 0, 3), (99, -1, "", 0, -1)]
    assert lab.talk(lab.of("kip-17"), kip_17(0, topic="none"), 2).topics[0].partitions == [(0, -1, "", 0, -1)]


@pytest.mark.rules("DR-1")
def test_kip_17_in_bytes() -> None:
    """An array of topics with arrays of partitions and nothing else, the high watermark last of each partition."""
    answer = Kip17OffsetFetchResponse(topics=[Kip17ResponseTopic(name="t", partitions=[(1, 5, "m", 14, 9)])])

    assert answer.encode(2) == pack(">ih1siiqh1shq", 1, 1, b"t", 1, 1, 5, 1, b"m", 14, 9)


@pytest.mark.rules("DR-9")
@pytest.mark.parametrize("as_release", ["3.9", "4.3"])
def test_kip_17_and_group_errors(as_release: str) -> None:
    """An error of the group stands on each partition, without a high watermark."""
    lab = DialectCluster(as_release)
    lab.load_slowly()

    assert lab.talk(lab.of("kip-17"), kip_17(0), 2).topics[0].partitions == [(0, -1, "", LOADING, -1)]


@pytest.mark.rules("DR-9", "OF-3")
def test_kip_17_and_null_topics() -> None:
    """Null topics cannot be read, as in v1: the connection is closed."""
    lab = DialectCluster()

    assert lab.talk(lab.of("kip-17"), OffsetFetchRequest(group_id="g", topics=None), 2) is None


@pytest.mark.rules("DR-3", "DR-10")
def test_the_early_kip_88_tells_offsets() -> None:
    """DescribeGroups lists members as in v0 and behind them what is stored, by topic and partition."""
    lab = DialectCluster()
    lab.commit([("u", 1, 7), ("t", 2, 6), ("t", 0, 5)], metadata=None)
    member = lab.stable(topics=["t"])

    answer = lab.talk(lab.of("kip-88-draft"), Kip88DescribeGroupsRequest(groups=["g", "none"]), 1)
    group, none = answer.groups

    assert (group.group_id, group.group_state, group.protocol_type, group.protocol_data) == (
        "g",
        "Stable",
        "consumer",
        "range",
    )
    assert [(entry.member_id, entry.client_id, entry.member_assignment) for entry in group.members] == [
        (member, "c", b"all")
    ]
    assert group.offsets == [("t", 0, 5, ""), ("t", 2, 6, ""), ("u", 1, 7, "")]
    assert (none.group_state, none.members, none.offsets) == ("Dead", [], [])


@pytest.mark.rules("DR-10")
def test_the_early_kip_88_describes_a_group_once() -> None:
    """A group that a request names very many times is described once, and others are served in between."""
    lab = DialectCluster()
    lab.commit([("t", index, 5) for index in range(3)])
    request = Kip88DescribeGroupsRequest(groups=["g"] * (3 * kip_88_draft.ENTRIES_PER_STEP))
    topics_read = 0

    def may_describe(_topic: str) -> bool:
        nonlocal topics_read
        topics_read += 1
        return True

    steps = kip_88_draft.steps(lab.call(1), request, may_describe)
    pauses = sum(1 for _ in steps)

    assert topics_read == 1
    assert pauses == 4  # of entries and of bytes, since its offsets are written each time
    answer = finished(kip_88_draft.steps(lab.call(1), request, may_describe))
    assert answer is not None
    assert [len(group.offsets) for group in answer.groups] == [3] * len(request.groups)


@pytest.mark.rules("DR-3")
def test_the_early_kip_88_in_bytes() -> None:
    """After the members of each group come its offsets, one element a partition; there is no throttle time."""
    group = Kip88Group(
        error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        group_id="g",
        group_state="s",
        protocol_type="k",
        protocol_data="p",
    )
    group.members = [Kip88Member(member_id="m", client_id="c", client_host="h", member_metadata=b"d")]
    group.offsets = [("t", 1, 5, "x"), ("t", 2, 6, "")]
    head = pack(">ihh1sh1sh1sh1s", 1, 14, 1, b"g", 1, b"s", 1, b"k", 1, b"p")
    member = pack(">ih1sh1sh1si1si", 1, 1, b"m", 1, b"c", 1, b"h", 1, b"d", 0)
    offsets = pack(">ih1siqh1sh1siqh", 2, 1, b"t", 1, 5, 1, b"x", 1, b"t", 2, 6, 0)

    assert Kip88DescribeGroupsResponse(groups=[group]).encode(1) == head + member + offsets


@pytest.mark.rules("DR-10")
def test_the_early_kip_88_and_errors() -> None:
    """A group that cannot be described has no members and no offsets."""
    lab = DialectCluster()
    lab.commit()
    lab.load_slowly()
    (group,) = lab.talk(lab.of("kip-88-draft"), Kip88DescribeGroupsRequest(groups=["g"]), 1).groups

    assert (group.error_code, group.members, group.offsets) == (LOADING, [], [])


@pytest.mark.rules("DR-13")
def test_kip_211_commits_without_retention() -> None:
    """OffsetCommit v4 has no retention time; the broker's own counts, and the rest is as ever."""
    lab = DialectCluster()
    request = Kip211OffsetCommitRequest(
        group_id="g",
        generation_id=-1,
        member_id="",
        topics=[Kip211RequestTopic(name="t", partitions=[(0, 5, None), (9, 5, "")])],
    )

    answer = lab.talk(lab.of("kip-211"), request, 4)

    assert sorted(answer.topics[0].partitions) == [(0, 0), (9, NO_PARTITION)]
    lab.wait(WEEK - DAY)
    assert lab.offsets() == {("t", 0): 5}
    lab.wait(DAY)
    assert not lab.exists()


@pytest.mark.rules("DR-6", "DR-7")
@pytest.mark.parametrize("as_release", ["3.9", "4.3"])
def test_what_listeners_announce(as_release: str) -> None:
    """On a dialect's listener the draft is the highest version of its API; elsewhere nothing is different."""
    lab = DialectCluster(as_release)

    def announced(listener: Listener) -> dict[int, tuple[int, int]]:
        answer = lab.talk(listener, ApiVersionsRequest(), 0)
        return {entry.api_key: (entry.min_version, entry.max_version) for entry in answer.api_keys}

    plain = announced(lab.of())
    lowest = {"3.9": (0, 0, 0), "4.3": (2, 1, 0)}[as_release]
    keys = (ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH, ApiKey.DESCRIBE_GROUPS)
    drafts = dict(zip(keys, zip(lowest, (4, 2, 1), strict=True), strict=True))
    assert plain[ApiKey.OFFSET_FETCH][1] > 2
    assert announced(lab.of("kip-17")) == plain | {ApiKey.OFFSET_FETCH: drafts[ApiKey.OFFSET_FETCH]}
    assert announced(lab.of("kip-88-draft")) == plain | {ApiKey.DESCRIBE_GROUPS: drafts[ApiKey.DESCRIBE_GROUPS]}
    assert announced(lab.of(*DIALECTS)) == plain | drafts


@pytest.mark.rules("DR-5", "DR-6")
def test_a_normal_client_sees_nothing_of_it() -> None:
    """The same bytes on the plain listener are the released request, with the released answer."""
    lab = DialectCluster()
    lab.commit()
    released = OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[0])])
    assert kip_17(0).encode(2) == released.encode(2)
    assert Kip88DescribeGroupsRequest(groups=["g"]).encode(1) == DescribeGroupsRequest(groups=["g"]).encode(1)

    answer = lab.talk(lab.of(), released, 2)

    assert isinstance(answer, OffsetFetchResponse)
    assert answer.topics[0].partitions == [(0, 5, -1, "", 0)]
    (exchange,) = lab.engine.journal.requests(api="OffsetFetch")
    assert isinstance(exchange.response, OffsetFetchResponse)


@pytest.mark.rules("DR-7")
@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_clients_stay_on_their_listener(dialect: str) -> None:
    """Metadata and FindCoordinator hand out the port of the listener that was asked."""
    lab = DialectCluster()
    listener = lab.of(dialect)

    assert [broker.port for broker in lab.talk(listener, MetadataRequest(topics=[]), 1).brokers] == [listener.port]
    assert lab.talk(listener, FindCoordinatorRequest(key="g"), 0).port == listener.port


def test_the_journal_knows_drafts() -> None:
    """What was said on a dialect's listener is decoded as the draft."""
    lab = DialectCluster()
    lab.talk(lab.of("kip-17"), kip_17(0), 2)
    (exchange,) = lab.engine.journal.requests(api="OffsetFetch")

    assert exchange.request == kip_17(0)
    assert isinstance(exchange.response, Kip17OffsetFetchResponse)


@pytest.mark.rules("DR-11")
@pytest.mark.parametrize(
    ("draft", "version", "released"),
    [
        (
            Kip17OffsetFetchResponse(topics=[Kip17ResponseTopic(name="t", partitions=[(0, 5, "m", 0, 9)])]),
            2,
            OffsetFetchResponse,
        ),
        (
            Kip88DescribeGroupsResponse(
                groups=[Kip88Group(group_id="g", group_state="Stable", members=[Kip88Member(member_id="m")])]
            ),
            1,
            DescribeGroupsResponse,
        ),
    ],
)
def test_accidental_use_is_caught(draft: Message, version: int, released: type[Message]) -> None:
    """A draft's answer read by the released schema of that version does not come out as the same answer."""
    data = draft.encode(version)
    try:
        message, end = released.decode(data, version)
    except WireError:
        return
    assert end != len(data) or message.encode(version) != data


@pytest.mark.rules("DR-2", "DR-12")
def test_offset_fetch_version_2_as_released() -> None:
    """Topics may be null, and the group's error follows them; there is no high watermark."""
    row = (0, 5, -1, "m", 0)
    answer = OffsetFetchResponse(
        topics=[OffsetFetchResponseTopic(name="t", partitions=[row])], error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    )

    assert OffsetFetchRequest(group_id="g", topics=None).encode(2) == b"\0\1g" + b"\xff" * 4
    assert answer.encode(2) == pack(">ih1siiqh1shh", 1, 1, b"t", 1, 0, 5, 1, b"m", 0, 14)


@pytest.mark.rules("DR-4")
def test_describe_groups_version_1_as_released() -> None:
    """The throttle time comes first, and the members of a group are the last of it."""
    answer = DescribeGroupsResponse(throttle_time_ms=9, groups=[DescribedGroup(group_id="g", group_state="Dead")])

    assert answer.encode(1) == pack(">iihh1sh4shhi", 9, 1, 0, 1, b"g", 4, b"Dead", 0, 0, 0)


@pytest.mark.rules("DR-13")
def test_kip_211_is_not_the_released_version_4() -> None:
    """The released v4 has a retention time in front of the topics; v5 dropped it, and is what the draft is."""
    draft = Kip211OffsetCommitRequest(group_id="g", topics=[Kip211RequestTopic(name="t", partitions=[(0, 5, "m")])])
    as_v5, end = OffsetCommitRequest.decode(draft.encode(4), 5)

    assert end == len(draft.encode(4))
    assert as_v5.topics[0].partitions == [(0, 5, -1, -1, "m")]
    assert (
        len(OffsetCommitRequest(group_id="g").encode(4)) == len(Kip211OffsetCommitRequest(group_id="g").encode(4)) + 8
    )


@pytest.mark.rules("DR-6")
def test_which_dialects_go_together() -> None:
    """An unknown dialect is refused with the names there are; two that change one API are refused too."""
    assert set(overlays_of(DIALECTS)) == {(9, 2), (15, 1), (8, 4)}
    with pytest.raises(FakebrokerError, match=r"kip-18.*kip-17, kip-88-draft, kip-211"):
        overlays_of(["kip-18"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(DIALECTS, "other", DIALECTS["kip-17"]._replace(name="other"))
        with pytest.raises(FakebrokerError, match="'kip-17' and 'other' both change OffsetFetch"):
            overlays_of(["kip-17", "other"])


def test_an_api_that_the_release_lacks_is_not_announced() -> None:
    """A dialect does not bring an API into a release that had none of it."""
    overlays = overlays_of(["kip-17"]).values()

    assert versions_with(overlays, {3: (0, 9)}) == {3: (0, 9)}
    assert response_to(api("Metadata").request) is None


def test_overlays_show_what_they_are() -> None:
    """For messages and debugging."""
    assert [repr(overlay) for overlay in overlays_of(["kip-17"]).values()] == ["<Overlay OffsetFetch v2 of Kip17>"]
