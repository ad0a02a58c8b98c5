"""Headers: which version of a header goes with what, and what is refused."""

import pytest

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.dialects import DIALECTS, Overlay
from fakebroker.protocol.wire.frame import (
    RequestHeader,
    ResponseHeader,
    decode_request_header,
    decode_response,
    encode_request,
    has_tagged_request_header,
    has_tagged_response_header,
)
from fakebroker.protocol.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from fakebroker.protocol.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from fakebroker.protocol.wire.registry import APIS
from tests.protocol.wire.responses import encode_response
from tests.protocol.wire.vectors import vectors_of


def with_api(header: bytes, api_key: int, version: int) -> bytes:
    """A recorded header, made one of that API and version."""
    return api_key.to_bytes(2, "big") + version.to_bytes(2, "big", signed=True) + header[4:]


@pytest.mark.rules("AV-1", "GEN-6")
def test_request_headers_as_recorded() -> None:
    """Versions 1 and 2 of the request header are read as an independent codec writes them, client id and all."""
    for vector in vectors_of("RequestHeader"):
        if vector.version in (1, 2):
            version = 4 if vector.version == 2 else 3
            frame = with_api(vector.data, ApiKey.HEARTBEAT, version)

            header, end = decode_request_header(frame + b"body")

            expected = vector.json
            assert header == RequestHeader(
                ApiKey.HEARTBEAT, version, expected["CorrelationId"], expected["ClientId"], unknown_tags=None
            )
            assert end == len(frame)


@pytest.mark.rules("AV-1")
def test_response_headers_as_recorded() -> None:
    """Versions 0 and 1 of the response header are read as an independent codec writes them."""
    for vector in vectors_of("ResponseHeader"):
        version = 4 if vector.version == 1 else 3
        response = HeartbeatResponse(error_code=27)

        read = decode_response(ApiKey.HEARTBEAT, version, vector.data + response.encode(version))

        assert read == (ResponseHeader(vector.json["CorrelationId"], None), response)


@pytest.mark.rules("AV-1", "AV-2")
@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize("client_id", [None, "", "ünïcode"])
def test_requests_and_responses_there_and_back(version: int, client_id: str | None) -> None:
    """What one side encodes, the other decodes, in old and flexible versions, with any client id."""
    request, response = HeartbeatRequest(group_id="g", generation_id=1), HeartbeatResponse(error_code=27)

    header, start = decode_request_header(encode_request(request, version, 77, client_id))
    body, end = HeartbeatRequest.decode(encode_request(request, version, 77, client_id), version, start)
    answer = decode_response(ApiKey.HEARTBEAT, version, encode_response(response, version, header.correlation_id))

    assert header == RequestHeader(ApiKey.HEARTBEAT, version, 77, client_id, None)
    assert body == request
    assert end == len(encode_request(request, version, 77, client_id))
    assert answer == (ResponseHeader(77, None), response)


@pytest.mark.rules("AV-11")
def test_unknown_tags_in_headers_are_kept() -> None:
    """Tagged fields that nobody knows do not disturb; they can be looked at."""
    request = bytes.fromhex("000c0004 0000004d 0001 61 01 07 02 abcd")
    response = bytes.fromhex("0000004d 01 07 01 ff 00000000 0000 00")

    assert decode_request_header(request) == (
        RequestHeader(ApiKey.HEARTBEAT, 4, 77, "a", {7: b"\xab\xcd"}),
        len(request),
    )
    assert decode_response(ApiKey.HEARTBEAT, 4, response)[0] == ResponseHeader(77, {7: b"\xff"})


@pytest.mark.rules("AV-5")
@pytest.mark.parametrize("version", range(5))
def test_api_versions_answers_have_the_old_header(version: int) -> None:
    """The body of an ApiVersions answer begins right behind the correlation id, also in flexible versions."""
    response = ApiVersionsResponse(api_keys=[ApiVersion(api_key=ApiKey.API_VERSIONS, min_version=0, max_version=4)])

    frame = encode_response(response, version, 5)

    assert frame == b"\0\0\0\5" + response.encode(version)
    assert decode_response(ApiKey.API_VERSIONS, version, frame) == (ResponseHeader(5, None), response)


@pytest.mark.rules("AV-6")
@pytest.mark.parametrize("version", [5, 99, 32767, -1])
def test_api_versions_of_unknown_versions_have_the_new_header(version: int) -> None:
    """The header of a version that we do not have is read with its tagged section, negative versions too."""
    frame = with_api(bytes.fromhex("00000000 00000005 0001 61 00"), ApiKey.API_VERSIONS, version)

    header, end = decode_request_header(frame + b"whatever")

    assert (header.api_version, header.client_id) == (version, "a")
    assert end == len(frame)
    with pytest.raises(WireError, match="tagged section"):
        decode_request_header(frame[:-1])


@pytest.mark.rules("AV-1")
def test_which_requests_have_tagged_headers() -> None:
    """In every API the header becomes flexible with the body."""
    for api in APIS.values():
        for version in range(api.min, api.max + 1):
            frame = encode_request(api.request(), version, 1, None)
            _, start = decode_request_header(frame)

            assert start == (11 if api.request.flexible.includes(version) else 10)


@pytest.mark.rules("AV-4")
@pytest.mark.parametrize(
    "frame",
    [
        b"",
        bytes.fromhex("000c0000 00000001 00"),
        bytes.fromhex("000c0000 00000001 0002 61"),
        bytes.fromhex("000c0004 00000001 ffff"),
        bytes.fromhex("000c0004 00000001 ffff 01"),
        bytes.fromhex("000c0004 00000001 ffff 01 00 05 00"),
        bytes.fromhex("03e70000 00000001 ffff"),
    ],
)
def test_broken_headers_raise_wire_error(frame: bytes) -> None:
    """A header that is cut short, or of an API that does not exist, raises WireError."""
    with pytest.raises(WireError):
        decode_request_header(frame)


def test_a_header_that_does_not_fit_raises_wire_error() -> None:
    """A correlation id or client id out of range is the caller's mistake, and said to be one."""
    with pytest.raises(WireError, match="header of ApiVersionsRequest v0"):
        encode_request(ApiVersionsRequest(), 0, 2**31, None)
    with pytest.raises(WireError, match="header of ApiVersionsRequest v0"):
        encode_request(ApiVersionsRequest(), 0, 1, "x" * 40000)


@pytest.mark.parametrize("length", [0, 3])
def test_a_short_answer_raises_wire_error(length: int) -> None:
    """An answer too short for its header raises WireError."""
    with pytest.raises(WireError, match="response header"):
        decode_response(ApiKey.HEARTBEAT, 0, bytes(length))


@pytest.mark.parametrize("overlay", [overlay for dialect in DIALECTS.values() for overlay in dialect.overlays], ids=str)
def test_a_draft_has_the_header_of_the_released_version(overlay: Overlay) -> None:
    """The header is decided by API key and version alone; no draft is flexible where the released version is not."""
    for message, has_tags in (
        (overlay.request, has_tagged_request_header(overlay.key, overlay.version)),
        (overlay.response, has_tagged_response_header(overlay.key, overlay.version)),
    ):
        assert message.flexible.includes(overlay.version) == has_tags


def test_a_client_id_that_cannot_be_stored_is_refused() -> None:
    """With U+FFFD for each byte that is not UTF-8 it is longer than a string may be."""
    head = with_api(bytes(8), ApiKey.HEARTBEAT, 3)
    assert (
        decode_request_header(head + (10_000).to_bytes(2, "big") + b"\xff" * 10_000)[0].client_id == "\ufffd" * 10_000
    )
    with pytest.raises(WireError, match="a string that is not UTF-8 has 60000 bytes"):
        decode_request_header(head + (20_000).to_bytes(2, "big") + b"\xff" * 20_000)
