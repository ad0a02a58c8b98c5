"""What happened: the journal's queries, expectations and differences; records without a consumer."""

from pathlib import Path

import pytest

from fakebroker import FakeBroker
from tests.examples.consumers import consumer, read


@pytest.mark.clients
def test_what_a_consumer_did(fakebroker: FakeBroker, tmp_path: Path) -> None:
    """Requests come decoded, in their order; a run is kept in a file and compared with another."""
    fakebroker.create_topic("orders").produce("first", key="k")
    with consumer(fakebroker.bootstrap, "billing", "orders", client_id="svc-1") as billing:
        read(billing, 1)
        joins = fakebroker.journal.requests(api="JoinGroup", client_id="svc-1")
        assert [join.request.group_id for join in joins] == ["billing"] * len(joins)

        fakebroker.journal.expect("JoinGroup", error="MEMBER_ID_REQUIRED").then("JoinGroup", error="NONE").within(s=2)

    fakebroker.journal.save(tmp_path / "run.jsonl")
    assert fakebroker.journal.diff(tmp_path / "run.jsonl").is_same
    assert [(record.key, record.value) for record in fakebroker.topic("orders").records()] == [(b"k", b"first")]
