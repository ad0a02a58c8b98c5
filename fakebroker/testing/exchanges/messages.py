"""What lines carry: messages, or frames that were not understood."""

from collections.abc import Mapping
from typing import Any, TypeVar

from fakebroker.protocol.schema import Message
from fakebroker.protocol.schema.jsonable import from_json, to_json
from fakebroker.protocol.wire.frame import decode_request_header, decode_response
from fakebroker.protocol.wire.registry import APIS

M = TypeVar("M", bound=Message)
Line = Mapping[str, Any]
MAX_FRAME_BYTES = 1 << 28


def request_of(line: Line) -> Message | None:
    """The message of a `request` line, ready to be sent; None if it was not understood, or left out.

    Raises WireError if the line was edited into something that is no such message.
    """
    if "message" in line:
        return _message_of(APIS[line["api_key"]].request, line)
    frame = _long_frame(line)
    if frame is None:
        return None
    header, at = decode_request_header(frame)
    return APIS[header.api_key].request.decode(frame, header.api_version, at)[0]


def answer_of(line: Line) -> Message | None:
    """The message of an `answer` line; None if it was not understood, or left out. Raises WireError as `request_of`."""
    if "message" in line:
        return _message_of(APIS[line["api_key"]].response, line)
    frame = _long_frame(line)
    return None if frame is None else decode_response(line["api_key"], line["version"], frame)[1]


def message_in(line: Line) -> Any:
    """The message of a `request` or `answer` line as data, also of a long one; None if it was not understood.

    Raises WireError for a long frame that is no such message.
    """
    if "message" in line:
        return plain(line["message"])
    message = (request_of if line["kind"] == "request" else answer_of)(line)
    return None if message is None else to_json(message, line["version"])


def frame_of(line: Line) -> bytes | None:
    """The whole frame (header and body) of a line that was not understood; None if there is a message, or no bytes.

    Raises ValueError for what is no hexadecimal.
    """
    text = line.get("hex")
    return None if text is None else bytes.fromhex(text)


def _long_frame(line: Line) -> bytes | None:
    """The frame of a line that was not decoded only because it is so long."""
    return frame_of(line) if line.get("is_long") and line["api_key"] in APIS else None


def _message_of(cls: type[M], line: Line) -> M:
    return from_json(cls, line["version"], plain(line["message"]))


def zeros(size_bytes: int) -> bytes:
    """That many zeros, in the place of bytes that a line does not have. Raises ValueError for more than a frame has."""
    if size_bytes > MAX_FRAME_BYTES:
        raise ValueError(f"{size_bytes} bytes are more than the {MAX_FRAME_BYTES} of a frame")
    return bytes(size_bytes)


def plain(value: Any) -> Any:
    """Message data as `from_json` takes it: bytes without what stands beside them to be read.

    Bytes that a journal has cut or left out are as long as they were; those that are not in the line are zero.
    """
    if isinstance(value, dict):
        if "bytes" in value and value.keys() <= {"hex", "bytes", "records"}:
            known = bytes.fromhex(value.get("hex", ""))
            return known + zeros(value["bytes"] - len(known))
        if "hex" in value and "batches" in value:
            return {"hex": value["hex"]}
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list) else value
