"""Raw requests as scenarios write them: fields, bytes, records."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.errors import InvalidArgument
from fakebroker.protocol.schema.building import built
from fakebroker.protocol.schema.jsonable import bytes_to_json
from fakebroker.protocol.wire.registry import APIS
from fakebroker.scenarios.playing.raw_requests import as_bytes, read_field


@given(st.binary())
def test_bytes_come_back(data: bytes) -> None:
    """What is shown of bytes makes the same bytes in a request."""
    assert as_bytes(bytes_to_json(data), "field") == data


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_a_request_may_have_either_names(api: object) -> None:
    """Our names of fields, and Kafka's."""
    cls = api.request  # type: ignore[attr-defined]
    ours = {spec.name: None for spec in cls.fields}
    kafkas = {spec.kafka_name: None for spec in cls.fields}

    assert built(cls, ours, read_field) == built(cls, kafkas, read_field) == built(cls, ours)


@pytest.mark.parametrize("value", [3, {"hex": 3}, {"hex": "0"}, {"base": "x"}, ["x"]])
def test_what_makes_no_bytes(value: object) -> None:
    """It is refused with the field's name."""
    with pytest.raises(InvalidArgument, match="protocols"):
        as_bytes(value, "protocols")
