"""Messages as data for JSON, and back."""

import json
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.schema.jsonable import bytes_to_json, from_json, to_json, uuid_from_text, uuid_to_text
from fakebroker.protocol.wire.messages.alter_client_quotas import AlterClientQuotasRequest, OpData
from fakebroker.protocol.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.protocol.schema.samples import Everything, Inner
from tests.protocol.schema.strategies import messages


@given(data=st.data())
def test_there_and_back(data: st.DataObject) -> None:
    """A message survives the way through JSON text."""
    version = data.draw(st.integers(0, 3))
    message = data.draw(messages(Everything, version))

    assert from_json(Everything, version, json.loads(json.dumps(to_json(message, version)))) == message


def test_only_fields_of_the_version_are_shown() -> None:
    """Fields of other versions are left out, and tagged ones that say nothing."""
    assert "Ignored" not in to_json(Everything(), 0)
    assert "Ignored" in to_json(Everything(), 1)
    assert "TaggedText" not in to_json(Everything(), 2)
    assert to_json(Everything(tagged_text="x"), 2)["TaggedText"] == "x"


def test_forms() -> None:
    """Bytes are hexadecimal, UUIDs base64, rows objects, unknown tags named by number."""
    message = Everything(data=b"\x01\xff", id=bytes(range(16)), lines=[(1, 2, 3, [], None, 7)])
    message.unknown_tags = {9: b"\xab"}
    shown = to_json(message, 2)

    assert shown["Data"] == {"hex": "01ff"}
    assert shown["Id"] == "AAECAwQFBgcICQoLDA0ODw"
    assert shown["Lines"] == [{"Index": 1, "Added": 2, "Needed": 3, "Texts": [], "Note": None}]
    assert shown["tag9"] == {"hex": "ab"}
    assert from_json(Everything, 2, shown) == message


def test_records_may_be_shown_otherwise() -> None:
    """A function given for records is asked instead of showing hexadecimal."""
    request = ProduceRequest(topic_data=[TopicProduceData(partition_data=[PartitionProduceData(records=b"abc")])])

    shown = to_json(request, 3, lambda raw: f"{len(raw)} bytes")

    assert shown["TopicData"][0]["PartitionData"][0]["Records"] == "3 bytes"


@pytest.mark.parametrize(
    "text", ["AAECAwQFBgcICQoLDA0ODw", "000102030405060708090a0b0c0d0e0f", "00010203-0405-0607-0809-0a0b0c0d0e0f"]
)
def test_uuids_in_all_their_forms(text: str) -> None:
    """A UUID is read from base64 and from hexadecimal with or without hyphens."""
    assert uuid_from_text(text) == bytes(range(16))
    assert from_json(Everything, 0, {"Id": text}).id == bytes(range(16))
    assert uuid_to_text(bytes(range(16))) == "AAECAwQFBgcICQoLDA0ODw"


@pytest.mark.parametrize(("number", "text"), [(nan, "NaN"), (inf, "Infinity"), (-inf, "-Infinity"), (1.5, 1.5)])
def test_what_is_no_number_in_json_is_text(number: float, text: str | float) -> None:
    """A client may send it, and who reads the journal must not stumble over it."""
    data = to_json(OpData(key="producer_byte_rate", value=number), 1)
    assert data["Value"] == text
    entries = [{"Entity": [], "Ops": [json.loads(json.dumps(data, allow_nan=False))]}]
    request = from_json(AlterClientQuotasRequest, 1, {"Entries": entries, "ValidateOnly": False})
    assert repr(request.entries[0].ops[0].value) == repr(number)


def test_fields_of_other_versions_are_ignored() -> None:
    """What the version does not carry is left out, as recorders of dialogues rely on."""
    assert from_json(Everything, 0, {"Needed": 5, "Count": 6}) == Everything(count=6)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"Cuont": 1}, "Everything has no field Cuont; its fields are Tiny, "),
        ({"Inner": {"Nmae": 1}}, "Everything.Inner has no field Nmae; its fields are Name, Numbers"),
        ({"Inner": 5}, "Everything.Inner: 5 is not an object with the fields of Inner"),
        ({"Inners": [{}, []]}, "Everything.Inners[1]: [] is not an object"),
        ({"Numbers": 5}, "Everything.Numbers: 5 is not a list"),
        ({"Data": "text"}, "Everything.Data: 'text' is not bytes"),
        ({"Data": {"hex": "zz"}}, "Everything.Data: non-hexadecimal"),
        ({"Id": "short"}, "Everything.Id: 'short' is not a UUID"),
        ({"Id": "0102"}, "Everything.Id: '0102' is not a UUID: it has 2 bytes"),
        ({"Id": "*" * 22}, "Everything.Id: "),
        ({"Ids": [5]}, "Everything.Ids[0]: 5 is not a UUID"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_wrong_is_named(data: dict[str, Any], words: str) -> None:
    """Data that is no such message raises WireError with the path."""
    with pytest.raises(WireError) as refused:
        from_json(Everything, 0, data)

    assert str(refused.value).startswith(words)


def test_nulls_are_kept() -> None:
    """null is None wherever it stands; whether it may be there is for the encoder to say."""
    assert from_json(Everything, 1, {"MaybeInner": None, "Names": None}).names is None
    assert from_json(Everything, 1, {"MaybeInner": {"Name": "n"}}).maybe_inner == Inner(name="n")


def test_bytes_that_are_text_are_shown_as_text() -> None:
    """Others, also those that would break a line, as hexadecimal."""
    shown = [bytes_to_json(data) for data in (b"caf\xc3\xa9", memoryview(b"a"), b"", b"\xff", b"a\nb", None)]

    assert shown == ["caf\u00e9", "a", "", {"hex": "ff"}, {"hex": "610a62"}, None]
