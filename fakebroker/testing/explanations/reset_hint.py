"""A hint for the commonest first mistake: without `auto.offset.reset` a consumer begins at the end of a partition."""

from collections.abc import Generator
from typing import TYPE_CHECKING

from fakebroker.broker.engine.journal import Exchange
from fakebroker.broker.engine.printable import printable
from fakebroker.protocol.pace import Pace
from fakebroker.testing.explanations.offset_wording import (
    LATEST,
    fetched_from,
    offsets_fetched,
    offsets_listed,
    shortened,
)

if TYPE_CHECKING:
    from fakebroker.broker.engine.engine import Engine

_Partition = tuple[str, int]
_Seen = dict[tuple[str, str, int], int]  # by client, topic and partition


def hints_in_steps(engine: "Engine", pace: Pace) -> Generator[None, None, list[str]]:
    """A line for each client that found no committed offset, asked for the latest offset, and fetches from there,
    although there are records before it. In steps, whose units are requests.
    """
    began = yield from _began_at_end(engine, pace)
    by_client: dict[str, list[str]] = {}
    for (client, topic, partition), offset in began.items():
        found = engine.cluster.topics.partition(topic, partition)
        if found is not None and found.has_log and found.log.log_start_offset < offset:
            place = f"{printable(topic)}-{partition} from {offset}"
            by_client.setdefault(printable(client or "(no client id)"), []).append(place)
    return [
        f"hint: {client} had no committed offset and reads {shortened(places)}, the end at that moment. It does "
        'not see the records before that; with auto.offset.reset "earliest" it does.'
        for client, places in by_client.items()
    ]


def _began_at_end(engine: "Engine", pace: Pace) -> Generator[None, None, _Seen]:
    """Where each client began to fetch at the latest offset, having no committed one."""
    without: set[tuple[str, str, int]] = set()
    listed: _Seen = {}
    began: _Seen = {}
    for exchange in engine.journal.requests():
        client = exchange.client_id or ""
        if exchange.api == "OffsetFetch" and (response := exchange.response) is not None:
            without |= {(client, s.topic, s.partition) for s in offsets_fetched(exchange, response) if s.text == "none"}
        elif exchange.api == "ListOffsets" and without:
            listed |= {(client, *where): offset for where, offset in _latest(exchange).items()}
        elif exchange.api == "Fetch" and listed:
            for said in fetched_from(exchange, exchange.request) if exchange.request is not None else ():
                key = client, said.topic, said.partition
                offset = listed.pop(key, None)
                if key in without and offset is not None and said.text == f" from {offset}":
                    began[key] = offset
        if pace.is_over():
            yield
    return began


def _latest(exchange: Exchange) -> dict[_Partition, int]:
    """The offsets of partitions whose latest offset was asked for."""
    request, response = exchange.request, exchange.response
    if request is None or response is None or exchange.version == 0 or exchange.found_errors:
        return {}
    latest = {(topic.name, row[0]) for topic in request.topics for row in topic.partitions if row[2] == LATEST}
    said = ((each.topic, each.partition, each.text) for each in offsets_listed(exchange, response))
    return {(topic, index): int(text) for topic, index, text in said if (topic, index) in latest and text != "none"}
