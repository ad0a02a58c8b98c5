"""Approved listings of generated source, so that a change of the generator is seen in review.

Rewrite them with FAKEBROKER_REWRITE=1, and commit a changed listing only if you can explain the difference.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from fakebroker.protocol.schema.emit_decode import write_decoder
from fakebroker.protocol.schema.emit_encode import write_encoder
from fakebroker.protocol.wire.messages.fetch import FetchRequest
from fakebroker.protocol.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from fakebroker.protocol.wire.messages.produce import ProduceResponse

LISTINGS = Path(__file__).resolve().parent / "listings"
APPROVED = [
    write_decoder(HeartbeatRequest, 4),
    write_encoder(HeartbeatResponse, 4),
    write_decoder(OffsetCommitRequest, 8),
    write_encoder(OffsetCommitResponse, 8),
    write_encoder(OffsetCommitRequest, 2),
    write_encoder(ProduceResponse, 10),
    write_decoder(FetchRequest, 18),
]


@pytest.mark.parametrize("source", APPROVED, ids=lambda source: source.title)
def test_generated_source_is_as_approved(source: Any) -> None:
    """The generator writes what somebody has read and found good."""
    listing = LISTINGS / (source.title.replace(" ", "_") + ".txt")
    if os.environ.get("FAKEBROKER_REWRITE") == "1":
        listing.write_text(source.text())

    assert source.text() == listing.read_text()
