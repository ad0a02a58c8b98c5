"""Requests and responses as frames: header and body, without the length in front of them (AV-1)."""

import struct
from typing import Any, NamedTuple

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.schema import Message
from fakebroker.protocol.schema.runtime import REPLACED, read_tags
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.registry import APIS, Api

# AV-5: the answer to ApiVersions has the old header in every version, since the client may not know what it will get.
OLD_RESPONSE_HEADER_ALWAYS = frozenset({ApiKey.API_VERSIONS})
# AV-6: in an ApiVersions request of a version that we do not have, the header is read as in the newest one.
NEW_REQUEST_HEADER_FOR_UNKNOWN_VERSIONS = frozenset({ApiKey.API_VERSIONS})

_REQUEST = struct.Struct(">hhih")
_RESPONSE = struct.Struct(">i")
SMALLEST_FRAME_BYTES = _REQUEST.size  # of a request: key, version, correlation id, length of the client id


class RequestHeader(NamedTuple):
    """Who asks for what. `unknown_tags` is None when there are none."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    unknown_tags: dict[int, bytes] | None


class ResponseHeader(NamedTuple):
    """Which request is answered. `unknown_tags` is None when there are none."""

    correlation_id: int
    unknown_tags: dict[int, bytes] | None


def has_tagged_request_header(api_key: int, version: int) -> bool:
    """Whether the request header ends with a tagged section (v2). Raises WireError for an unknown API."""
    api = _api(api_key)
    if api_key in NEW_REQUEST_HEADER_FOR_UNKNOWN_VERSIONS and not api.min <= version <= api.max:
        return True
    return api.is_flexible(version)


def has_tagged_response_header(api_key: int, version: int) -> bool:
    """Whether the response header ends with a tagged section (v1). Raises WireError for an unknown API."""
    return _api(api_key).is_flexible(version) and api_key not in OLD_RESPONSE_HEADER_ALWAYS


def decode_request_header(frame: bytes) -> tuple[RequestHeader, int]:
    """The header and where the body begins. Raises WireError; whether the version is served is for others to say."""
    try:
        api_key, version, correlation_id, size = _REQUEST.unpack_from(frame)
    except struct.error:
        raise WireError(f"a frame of {len(frame)} bytes is too short for a request header") from None
    client_id, end = _read_client_id(frame, size)
    tags = None
    if has_tagged_request_header(api_key, version):
        tags, end = _read_tags(frame, end)
    return RequestHeader(api_key, version, correlation_id, client_id, tags), end


def client_id_of(frame: bytes) -> str | None:
    """The client id of a request of any API, known or not. Raises WireError."""
    try:
        return _read_client_id(frame, _REQUEST.unpack_from(frame)[3])[0]
    except struct.error:
        raise WireError(f"a frame of {len(frame)} bytes is too short for a request header") from None


def _read_client_id(frame: bytes, size: int) -> tuple[str | None, int]:
    """It has its old length in every version (GEN-6), so that any broker can read it; and where it ends."""
    end = _REQUEST.size + max(0, size)
    if end > len(frame):
        raise WireError(f"a client id of {size} bytes does not fit into a frame of {len(frame)} bytes")
    return None if size < 0 else frame[_REQUEST.size : end].decode("utf-8", REPLACED), end


def encode_request(request: Message, version: int, correlation_id: int, client_id: str | None) -> bytes:
    """A request with its header. Raises WireError."""
    name = None if client_id is None else client_id.encode()
    size = -1 if name is None else len(name)
    try:
        head = _REQUEST.pack(request.api_key, version, correlation_id, size)
    except struct.error as error:
        raise WireError(f"header of {type(request).__name__} v{version}: {error}") from None
    tags = b"\0" if has_tagged_request_header(request.api_key, version) else b""
    return b"".join((head, name or b"", tags, request.encode(version)))


def decode_response(
    api_key: int, version: int, frame: bytes, draft: type[Message] | None = None
) -> tuple[ResponseHeader, Any]:
    """The answer to a request of that API and version; bytes behind it are ignored (AV-11). Raises WireError.

    Its class is that of the API's answers, which no type checker knows: Any.

    `draft` is the class of the answer where a dialect was spoken (DR-5).
    """
    if len(frame) < _RESPONSE.size:
        raise WireError(f"a frame of {len(frame)} bytes is too short for a response header")
    (correlation_id,) = _RESPONSE.unpack_from(frame)
    tags, end = None, _RESPONSE.size
    if has_tagged_response_header(api_key, version):
        tags, end = _read_tags(frame, end)
    response, _ = (draft or _api(api_key).response).decode(frame, version, end)
    return ResponseHeader(correlation_id, tags), response


def _api(api_key: int) -> Api:
    api = APIS.get(api_key)
    if api is None:
        raise WireError(f"API key {api_key} is unknown")
    return api


def _read_tags(frame: bytes, position: int) -> tuple[dict[int, bytes] | None, int]:
    """The tagged section of a header; in practice one zero byte."""
    try:
        tags, end = read_tags(frame[position], frame, position + 1)
    except (IndexError, WireError) as error:
        raise WireError(f"tagged section of a header in a frame of {len(frame)} bytes: {error}") from None
    return tags or None, end
