"""A failed codec says which message, version and field, and where in the bytes."""

import pytest

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.schema import Message
from fakebroker.protocol.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from fakebroker.protocol.wire.messages.metadata import MetadataRequest
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestTopic


@pytest.mark.parametrize(
    ("message", "version", "data", "words"),
    [
        (
            JoinGroupRequest,
            0,
            "000161",
            "JoinGroupRequest v0 at SessionTimeoutMs, MemberId, near byte 3 of 3: the input",
        ),
        (JoinGroupRequest, 6, "00", "JoinGroupRequest v6 at GroupId, near byte 0 of 1: null is not allowed"),
        (JoinGroupRequest, 0, "ffff", "at GroupId, near byte 0 of 2: null is not allowed"),
        (
            MetadataRequest,
            0,
            "7fffffff",
            "at Topics, near byte 4 of 4: a length of 2147483647, but only 0 bytes are left",
        ),
        (MetadataRequest, 9, "02 ffff03 61", "at Topics[].Name, near byte 1 of 5: a string of 65534 bytes is longer"),
        (
            MetadataRequest,
            0,
            "00000001 4e20" + "ff" * 20_000,
            "at Topics[].Name, near byte 4 of 20006: a string that is",
        ),
        (
            MetadataRequest,
            9,
            "01 00 00 00 01 00 05 61",
            "at tags, near byte 5 of 8: a length of 5, but only 1 bytes",
        ),
    ],
)
def test_decoding(message: type[Message], version: int, data: str, words: str) -> None:
    """The error of bad bytes names the field that was being read and the position near it."""
    with pytest.raises(WireError) as refused:
        message.decode(bytes.fromhex(data), version)

    assert words in str(refused.value)


def test_encoding_names_the_entry() -> None:
    """The error of a bad value deep inside names the whole path with its indexes."""
    bad = OffsetCommitRequestTopic(name="t", partitions=[(0, 1, -1, -1, ""), (1, 2**63, -1, -1, "")])
    request = OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequestTopic(name="s"), bad])

    with pytest.raises(WireError) as refused:
        request.encode(8)

    assert str(refused.value) == (
        "OffsetCommitRequest v8 at topics[1].partitions[1].committed_offset: 9223372036854775808 does not fit int64"
    )


def test_the_cause_is_kept() -> None:
    """The original exception hangs on the WireError, with the generated line in its traceback."""
    with pytest.raises(WireError) as refused:
        JoinGroupRequest(protocols=[JoinGroupRequestProtocol(metadata=5)]).encode(0)  # type: ignore[arg-type]

    assert "protocols[0].metadata: 5 is not bytes" in str(refused.value)
    assert isinstance(refused.value.__cause__, TypeError)
