"""How a scripted client acknowledges what it has acquired in a share group (KIP-932), as requests have it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from fakebroker.client.committed_records import committed_records
from fakebroker.protocol.arguments.checks import check_whole
from fakebroker.protocol.errors import InvalidArgument, nearest
from fakebroker.protocol.records.record_codec import Header

Acknowledgement = Literal["gap", "accept", "release", "reject", "renew"]
Acknowledgements = Mapping[int, Acknowledgement] | Acknowledgement

NUMBERS: Mapping[str, int] = {"gap": 0, "accept": 1, "release": 2, "reject": 3, "renew": 4}


class AcquiredRecord(NamedTuple):
    """A record that was acquired: it is this member's until it is acknowledged or its lock ends.

    `delivery_count` says how often it was delivered, this time included.
    """

    topic: str
    partition: int
    offset: int
    delivery_count: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header]


def acquired_records(topic: str, data: Any) -> Iterator[AcquiredRecord]:
    """The records of a partition in the answer to a ShareFetch that were acquired.

    The answer has whole batches, perhaps with records that this member did not acquire; those are not for it (SGF-10).
    """
    counts: dict[int, int] = {}
    for row in data.acquired_records:
        counts |= dict.fromkeys(range(row.first_offset, row.last_offset + 1), row.delivery_count)
    for record in committed_records(data.records or b""):
        if record.offset in counts:
            yield AcquiredRecord(
                topic,
                data.partition_index,
                record.offset,
                counts[record.offset],
                record.timestamp_ms,
                record.key,
                record.value,
                record.headers,
            )


def by_offset(acknowledgements: Acknowledgements, acquired: Sequence[int]) -> dict[int, Acknowledgement]:
    """What becomes of each offset; one word is for all that is `acquired`. Raises InvalidArgument for unknown words."""
    if isinstance(acknowledgements, str):
        acknowledgements = dict.fromkeys(acquired, acknowledgements)
    if not isinstance(acknowledgements, Mapping):
        text = f'acknowledgements={acknowledgements!r} is not a word per offset, such as {{0: "accept", 1: "release"}}'
        raise InvalidArgument("acknowledgements", acknowledgements, text)
    for offset, word in acknowledgements.items():
        check_whole("acknowledgements", offset, 0)
        if word not in NUMBERS:
            text = f"acknowledgements: offset {offset} has {word!r}; {nearest(str(word), list(NUMBERS))}"
            raise InvalidArgument("acknowledgements", acknowledgements, text)
    return dict(sorted(acknowledgements.items()))


def batches(words: Mapping[int, Acknowledgement]) -> list[dict[str, Any]]:
    """Acknowledgement batches of ascending offsets: neighbours of one kind are one batch."""
    found: list[dict[str, Any]] = []
    for offset, word in words.items():
        last = found[-1] if found else None
        if last and last["last_offset"] == offset - 1 and last["acknowledge_types"] == [NUMBERS[word]]:
            last["last_offset"] = offset
        else:
            found.append({"first_offset": offset, "last_offset": offset, "acknowledge_types": [NUMBERS[word]]})
    return found
