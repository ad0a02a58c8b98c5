"""Signatures: equal for failures that are alike, whatever ids, times and ports a run has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.analysis.campaign.signature import LONGEST, signature_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "members: expected [a], but saw [a-6f9619ff-8b86-4011-b42d-00c04fc964ff]",
            "members: expected [a], but saw [<id>]",
        ),
        ("saw topic id dGhlIHRvcGljIGlkIDE2Yg there", "saw topic id <id> there"),
        ("no answer from 127.0.0.1:40123 after 30000 ms", "no answer from <address> after <time>"),
        ("no answer from [::1]:9092 or kafka.test:9092", "no answer from <address> or <address>"),
        ("<Thing object at 0x7f00deadbeef> on port 4711", "<Thing object at <address>> on port <port>"),
        ("expires_at: 1767225600000, not 2026-01-01T00:00:00.000Z", "expires_at: <time>, not <time>"),
        ("at +3d 00:00:10.250 and\n  +00:00:01.000", "at <time> and <time>"),
        ("offsets.orders-0: expected 42, but saw 41", "offsets.orders-0: expected 42, but saw 41"),
        ("generation 3 of group weekend-billing-service-1", "generation 3 of group weekend-billing-service-1"),
    ],
)
def test_what_differs_from_run_to_run_is_left_out(text: str, expected: str) -> None:
    """Ids, addresses, ports and times are placeholders; offsets, generations and names stay."""
    assert signature_of(text) == expected


@given(st.uuids(version=4), st.uuids(version=4), st.integers(1024, 65535), st.integers(10**12, 2 * 10**12 - 1))
def test_failures_of_two_runs_have_one_signature(one: object, other: object, port: int, at_ms: int) -> None:
    """Whatever ids, ports and times two runs have, what they say alike has the same signature."""
    text = "a: join billing: expected NONE, but saw member consumer-1-{} of 10.0.0.7:{} since {}"

    assert signature_of(text.format(one, port, at_ms)) == signature_of(text.format(other, 9092, 1767225600000))


@given(st.text())
def test_a_signature_is_a_line_of_bounded_length(text: str) -> None:
    """Any text has one, on one line."""
    signature = signature_of(text)

    assert len(signature) <= LONGEST
    assert signature.splitlines() in ([], [signature])
