"""Frames as lines of a session: decoded where they are understood, else as hexadecimal; secrets never."""

from collections.abc import Callable
from struct import Struct
from typing import Any, NamedTuple

from fakebroker.broker.engine.unserved import MISSING
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.schema import Message
from fakebroker.protocol.schema.entities import has_secrets
from fakebroker.protocol.schema.jsonable import to_json
from fakebroker.protocol.schema.message import Declaration
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.frame import decode_request_header, decode_response
from fakebroker.protocol.wire.registry import APIS
from fakebroker.scenarios.dialogue.batches import read_batches
from fakebroker.testing.exchanges.payloads import Payloads, has_payloads
from fakebroker.testing.exchanges.redaction import redact

LONG_FRAME_BYTES = 16 << 20  # longer ones are not decoded: that takes several times their length in memory
_SHOWN_RECORDS_BYTES = 256 << 10
_NEVER = -(10**15)  # read_batches shows times near this one as "now"

# Envelopes carry any request, snapshots carry records; they are not decoded.
_HIDDEN_WITH_SECRETS, _HIDDEN_WITH_PAYLOADS = {ApiKey.ENVELOPE}, {ApiKey.ENVELOPE, ApiKey.FETCH_SNAPSHOT}

_HEAD = Struct(">hhih")


class Head(NamedTuple):
    """What every request begins with."""

    api_key: int
    version: int
    correlation_id: int
    client_id: str | None

    @property
    def api(self) -> str | None:
        """Kafka's name of the API, None for one that Kafka 4.3 does not have."""
        return api_name(self.api_key)


def api_name(api_key: int) -> str | None:
    """Kafka's name of an API; None for one that Kafka 4.3 does not have."""
    if api_key in APIS:
        return APIS[api_key].name
    return MISSING.get(api_key)


def read_head(frame: bytes) -> Head | None:
    """The beginning of a request of any API; None if these bytes are no request."""
    if len(frame) < _HEAD.size:
        return None
    api_key, version, correlation_id, size = _HEAD.unpack_from(frame)
    end = _HEAD.size + max(0, size)
    if end > len(frame):
        return None
    return Head(
        api_key, version, correlation_id, None if size < 0 else frame[_HEAD.size : end].decode("utf-8", "replace")
    )


def looks_like_request(frame: bytes) -> bool:
    """Whether a frame that may be a bare SASL token is a request: of an API of Kafka's, in a version that can be."""
    head = read_head(frame)
    return head is not None and head.api is not None and 0 <= head.version < 32


def acks_of(frame: bytes, head: Head) -> int | None:
    """The acks of a Produce request, None where they cannot be read. With 0 there is no answer."""
    try:
        _, at = decode_request_header(frame)
        if APIS[ApiKey.PRODUCE].is_flexible(head.version):  # a compact nullable string: the transactional id
            size, shift = 0, 0
            while frame[at] & 0x80:
                size |= (frame[at] & 0x7F) << shift
                at, shift = at + 1, shift + 7
            size |= frame[at] << shift
            at += max(1, size)
        elif head.version >= 3:
            at += 2 + max(0, int.from_bytes(frame[at : at + 2], "big", signed=True))
    except (FakebrokerError, IndexError):
        return None
    return int.from_bytes(frame[at : at + 2], "big", signed=True) if at + 2 <= len(frame) else None


class Content:
    """Makes of frames what their lines say of them."""

    def __init__(self, *, secrets: bool, payloads: Payloads | None) -> None:
        """`secrets`: leave them out; `payloads`: what replaces the payloads, if they are to be replaced."""
        self.secrets = secrets
        self.payloads = payloads

    def request(self, head: Head, frame: bytes) -> dict[str, Any] | None:
        """The fields of a request's line; None for one that is too long to be decoded, to be written in pieces."""
        if head.api_key not in APIS or len(frame) > LONG_FRAME_BYTES:
            return self._raw(head.api_key, frame)
        try:
            header, at = decode_request_header(frame)
            message, end = APIS[head.api_key].request.decode(frame, header.api_version, at)
        except FakebrokerError as error:
            return self._raw(head.api_key, frame, str(error))
        return self.message(message, head.version, len(frame) - end)

    def answer(self, api_key: int, version: int, frame: bytes) -> dict[str, Any] | None:
        """The fields of an answer's line; None as for `request`."""
        if api_key not in APIS or len(frame) > LONG_FRAME_BYTES:
            return self._raw(api_key, frame)
        try:
            _, message = decode_response(api_key, version, frame)
        except FakebrokerError as error:
            return self._raw(api_key, frame, str(error))
        return self.message(message, version)

    def token(self, frame: bytes) -> dict[str, Any] | None:
        """The fields of a line for a bare SASL token."""
        return self._raw(ApiKey.SASL_AUTHENTICATE, frame)

    def message(self, message: Message, version: int, rest_bytes: int = 0) -> dict[str, Any]:
        """The fields of a message that nobody else holds; `rest_bytes` are behind it, where nothing should be."""
        redacted = self.secrets and redact(message)
        if self.payloads is not None:
            self.payloads.redact(message)
        fields: dict[str, Any] = {"message": to_json(message, version, self._records)}
        if redacted:
            fields["is_redacted"] = True
        if rest_bytes:
            fields["rest_bytes"] = rest_bytes
        return fields

    def _records(self, data: bytes) -> dict[str, Any]:
        """The bytes of records, and beside them the batches to be read if they can be."""
        shown: dict[str, Any] = {"hex": data.hex()}
        if data and len(data) <= _SHOWN_RECORDS_BYTES:
            try:
                shown["batches"] = read_batches(data, _NEVER)
            except Exception as error:  # records of any client: wrong in ways that no list names
                shown["unread"] = f"{type(error).__name__}: {error}"
        return shown

    def _raw(self, api_key: int, frame: bytes, problem: str | None = None) -> dict[str, Any] | None:
        """What is not understood, or too long to be decoded."""
        why = {} if problem is None else {"problem": problem}
        hides_secrets = self.secrets and (api_key in _HIDDEN_WITH_SECRETS or _carries(api_key, has_secrets))
        hides_payloads = self.payloads is not None and (
            api_name(api_key) is None or api_key in _HIDDEN_WITH_PAYLOADS or _carries(api_key, has_payloads)
        )
        if hides_secrets or hides_payloads:
            return {"hex": None, "is_redacted": True, **why}
        return None if len(frame) > LONG_FRAME_BYTES else {**why, "hex": frame.hex()}


def _carries(api_key: int, what: Callable[[type[Declaration]], bool]) -> bool:
    """Whether requests or answers of an API may carry secrets, or payloads."""
    api = APIS.get(api_key)
    return api is not None and (what(api.request) or what(api.response))
