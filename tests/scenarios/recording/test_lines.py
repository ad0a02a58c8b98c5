"""Frames as lines: whatever bytes come, there is a line; secrets are in none."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.wire.frame import encode_request
from fakebroker.protocol.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from fakebroker.protocol.wire.messages.produce import ProduceRequest
from fakebroker.protocol.wire.registry import APIS
from fakebroker.scenarios.recording.lines import LONG_FRAME_BYTES, Content, Head, acks_of, looks_like_request, read_head
from fakebroker.testing.exchanges.payloads import Payloads

PLAIN = Content(secrets=False, payloads=None)
SECRET = Content(secrets=True, payloads=None)
ALL = Content(secrets=True, payloads=Payloads(b"k"))


@given(
    key=st.sampled_from([*APIS, 17, 36, 78, 999]),
    version=st.integers(0, 20),
    body=st.binary(max_size=100),
    content=st.sampled_from([PLAIN, SECRET, ALL]),
)
def test_any_bytes_have_a_line(key: int, version: int, body: bytes, content: Content) -> None:
    """A request or an answer is decoded or hexadecimal or left out; nothing is raised."""
    frame = struct.pack(">hhih", key, version, 1, -1) + body
    head = read_head(frame)

    assert head == Head(key, version, 1, None)
    for fields in (content.request(head, frame), content.answer(key, version, frame)):
        assert fields is not None
        assert ("message" in fields) != ("hex" in fields)
        assert content is not PLAIN or fields.get("hex", frame.hex()) == frame.hex()


@given(st.binary(max_size=40))
def test_any_bytes_have_a_beginning_or_none(data: bytes) -> None:
    """Frames too short, or with a client id that is longer than the frame, are no requests."""
    head = read_head(data)

    assert head is None or len(data) >= 10
    assert not looks_like_request(data) or head is not None
    if head is not None:
        acks_of(data, head)


@pytest.mark.parametrize("version", range(14))
@pytest.mark.parametrize("transactional_id", [None, "", "t", "long" * 40])
def test_acks_are_found_without_decoding(version: int, transactional_id: str | None) -> None:
    """In every version of Produce, whatever stands before them."""
    for acks in (-1, 0, 1):
        request = ProduceRequest(acks=acks, timeout_ms=1, transactional_id=transactional_id if version >= 3 else None)
        frame = encode_request(request, version, 1, "client")
        head = read_head(frame)
        assert head is not None
        assert acks_of(frame, head) == acks


def test_secret_settings_are_left_out() -> None:
    """Passwords in settings are redacted in the message, and withheld where it does not decode."""
    request = IncrementalAlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=2,
                resource_name="t",
                configs=[AlterableConfig(name="ssl.keystore.password", config_operation=0, value="hunter2")],
            )
        ]
    )
    frame = encode_request(request, 1, 1, "c")
    head = read_head(frame)
    assert head is not None

    fields = SECRET.request(head, frame)
    assert fields is not None
    assert "hunter2" not in str(fields)
    assert fields["is_redacted"] is True
    assert "hunter2" in str(PLAIN.request(head, frame))
    cut = SECRET.request(head, frame[:-3])
    assert cut is not None
    assert (cut["hex"], cut["is_redacted"]) == (None, True)
    assert "hunter2" not in str(cut)


def test_long_frames_are_for_pieces_unless_they_must_not_be_seen() -> None:
    """A frame beyond the limit is not decoded; with payloads redacted it is left out."""
    frame = encode_request(ProduceRequest(acks=1, timeout_ms=1), 9, 1, "c") + bytes(LONG_FRAME_BYTES)
    head = read_head(frame)
    assert head is not None

    assert PLAIN.request(head, frame) is None
    assert SECRET.answer(1, 12, frame) is None
    assert ALL.request(head, frame) == {"hex": None, "is_redacted": True}


def test_bytes_behind_a_message_are_reported() -> None:
    """They are not in the message; the line says how many there were."""
    frame = encode_request(ProduceRequest(acks=1, timeout_ms=1), 9, 1, "c") + b"more"
    head = read_head(frame)
    assert head is not None

    fields = PLAIN.request(head, frame)
    assert fields is not None
    assert fields["rest_bytes"] == 4
