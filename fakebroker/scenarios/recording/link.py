"""One connection of a client and the one to the broker behind it: requests go up, answers down, both recorded."""

import asyncio
import os
import struct
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from fakebroker.protocol.errors import ErrorCode, FakebrokerError, WireError
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.frame import decode_response, encode_request
from fakebroker.protocol.wire.framing import guess_protocol
from fakebroker.protocol.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from fakebroker.protocol.wire.registry import newest
from fakebroker.scenarios.recording.addresses import (
    brokers_in,
    names_addresses,
    rewritten,
    version_of_api_versions,
    without_unknown_versions,
)
from fakebroker.scenarios.recording.lines import Head, acks_of, looks_like_request, read_head

if TYPE_CHECKING:
    from fakebroker.scenarios.recording.proxy import Proxy

MAX_FRAME_BYTES = 256 << 20
CONNECT_TIMEOUT_S = 10
RECORDING_ENDS = "the recording ends"
LAST_ANSWERS_S = 2  # how long answers are awaited for a client that has closed
LAST_WRITES_S = 5  # how long a connection that is closed may take for what is still to be written
CLIENT, UPSTREAM = "client", "upstream"
_PIECE_BYTES = 256 << 10
_SIZE = struct.Struct(">i")


class Broken(FakebrokerError):
    """The connection ends here; the text says why, `by` whose doing it was."""

    def __init__(self, reason: str, by: str = "proxy") -> None:
        super().__init__(reason)
        self.by = by


class Link:
    """A client's connection through the proxy."""

    def __init__(
        self,
        proxy: "Proxy",
        number: int,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        broker: Address,
    ) -> None:
        """`client` are the streams to the client, `number` is how the session calls the connection."""
        self.proxy = proxy
        self.number = number
        self.broker = broker
        self._from_client, self._to_client = client
        self._from_broker: asyncio.StreamReader
        self._to_broker: asyncio.StreamWriter
        # Requests that await their answers; None stands for a bare SASL token.
        self._waiting: deque[Head | None] = deque()
        self._takes_tokens = False  # a SaslHandshake v0 was answered: what comes next has no header
        self._asked_v0: set[int] = set()  # correlation ids of ApiVersions requests that were sent on as v0

    async def run(self) -> None:
        """Pass on until one side closes."""
        peer = self._to_client.get_extra_info("peername")
        self.proxy.tell_connected(self, f"{peer[0]}:{peer[1]}" if peer else "")
        by, reason = "proxy", RECORDING_ENDS
        try:
            by, reason = await self._connect_and_pass()
        except Exception as error:  # whatever a connection meets ends that connection only
            by, reason = "proxy", f"an error of the proxy: {type(error).__name__}: {error}"
        finally:
            self.proxy.tell_closed(self, by, reason)
            _close(self._to_client)

    async def _connect_and_pass(self) -> tuple[str, str]:
        where = str(self.broker)
        try:
            tls, name = self.proxy.tls, self.proxy.server_name or self.broker.host
            connecting = asyncio.open_connection(*self.broker, ssl=tls, server_hostname=name if tls else None)
            self._from_broker, self._to_broker = await asyncio.wait_for(connecting, CONNECT_TIMEOUT_S)
        except TimeoutError:
            return UPSTREAM, f"{where} did not accept the connection within {CONNECT_TIMEOUT_S} s"
        except OSError as error:
            return UPSTREAM, f"{where} cannot be reached: {reason_of(error)}"
        try:
            return await self._pass()
        finally:
            _close(self._to_broker)

    async def _pass(self) -> tuple[str, str]:
        """Run both directions until one of them ends; who ended it, and why."""
        up = asyncio.create_task(self._requests())
        down = asyncio.create_task(self._answers())
        try:
            await asyncio.wait({up, down}, return_when=asyncio.FIRST_COMPLETED)
            if up.done() and not down.done() and self._waiting and self._ended_well(up):
                with suppress(OSError):  # the broker may still answer, and what it says belongs to the session
                    self._to_broker.write_eof()
                await asyncio.wait({down}, timeout=LAST_ANSWERS_S)
            first, by = (up, CLIENT) if up.done() else (down, UPSTREAM)
            error = first.exception()
            if isinstance(error, Broken):
                return error.by, str(error)
            if error is not None:
                raise error
            return by, f"closed by the {by}"
        finally:
            up.cancel()
            down.cancel()
            await asyncio.gather(up, down, return_exceptions=True)

    @staticmethod
    def _ended_well(task: "asyncio.Task[None]") -> bool:
        return not task.cancelled() and task.exception() is None

    async def _requests(self) -> None:
        while (frame := await _read_frame(self._from_client, CLIENT)) is not None:
            await _write_frame(self._to_broker, self._request(frame), UPSTREAM)

    async def _answers(self) -> None:
        while (frame := await _read_frame(self._from_broker, UPSTREAM)) is not None:
            await _write_frame(self._to_client, await self._answer(frame), CLIENT)

    def _request(self, frame: bytes) -> bytes:
        """Note a request; what the broker gets instead of it is mostly the same."""
        if self._takes_tokens and not looks_like_request(frame):
            self._waiting.append(None)
            self.proxy.tell("request", self, None, None, frame, self.proxy.content.token(frame))
            return frame
        self._takes_tokens = False
        head = read_head(frame)
        if head is None:
            raise Broken(f"a request header in a frame of {len(frame)} bytes")
        self.proxy.tell("request", self, head, head.version, frame, self.proxy.content.request(head, frame))
        if head.api_key != ApiKey.PRODUCE or acks_of(frame, head) != 0:
            self._waiting.append(head)
        if head.api_key == ApiKey.API_VERSIONS and head.version > newest(ApiKey.API_VERSIONS):
            self._asked_v0.add(head.correlation_id)
            return encode_request(ApiVersionsRequest(), 0, head.correlation_id, head.client_id)
        return frame

    async def _answer(self, frame: bytes) -> bytes:
        """Note an answer; what the client gets instead of it is the same but for addresses and promised versions."""
        if not self._waiting:
            raise Broken(f"the upstream sent a frame of {len(frame)} bytes that answers no request")
        head = self._waiting.popleft()
        if head is None:
            self.proxy.tell("answer", self, None, None, frame, self.proxy.content.token(frame))
            return frame
        if len(frame) < 4:
            raise Broken(f"a response header in a frame of {len(frame)} bytes")
        (correlation_id,) = _SIZE.unpack_from(frame)
        while head is None or head.correlation_id != correlation_id:
            if not self._waiting:
                raise Broken(f"the upstream sent an answer with the correlation id {correlation_id} of no request")
            head = self._waiting.popleft()  # a Produce without an answer, of a version that is not known here
        version = self._answered_version(head, frame)
        sent, problem = await self._changed(head, version, frame)
        fields = self.proxy.content.answer(head.api_key, version, frame)
        if fields is not None:
            fields |= {"is_rewritten": True} if sent is not frame else {}
            fields |= {"problem": problem} if problem else {}
        if head.api_key == ApiKey.SASL_HANDSHAKE and head.version == 0:
            self._takes_tokens = True
        self.proxy.tell("answer", self, head, version, frame, fields)
        return sent

    def _answered_version(self, head: Head, frame: bytes) -> int:
        if head.api_key != ApiKey.API_VERSIONS:
            return head.version
        return 0 if head.correlation_id in self._asked_v0 else version_of_api_versions(frame, head.version)

    async def _changed(self, head: Head, version: int, frame: bytes) -> tuple[bytes, str | None]:
        """The answer as the client gets it, and what is wrong with it."""
        try:
            if head.api_key == ApiKey.API_VERSIONS:
                return self._promised(head, version, frame), None
            if not names_addresses(head.api_key, version):
                return frame, None
            if head.api_key == ApiKey.METADATA:
                self._learn(version, frame)
            return await rewritten(head.api_key, version, frame, self._locally) or frame, None
        except WireError as error:
            problem = f"passed on with the addresses that it has, which were not understood: {error}"
            self.proxy.warn(f"connection {self.number}: an answer to {head.api} v{version} is {problem}")
            return frame, problem
        except OSError as error:
            raise Broken(f"no port for a broker that an answer names: {error.strerror or error}") from None

    def _learn(self, version: int, frame: bytes) -> None:
        _, answer = decode_response(ApiKey.METADATA, version, frame)
        for node_id, address in brokers_in(version, answer):
            self.proxy.learn(node_id, address)

    def _promised(self, head: Head, version: int, frame: bytes) -> bytes:
        header, answer = decode_response(ApiKey.API_VERSIONS, version, frame)
        assert isinstance(answer, ApiVersionsResponse)
        if head.correlation_id in self._asked_v0:  # as a broker answers that does not know the version (AV-6)
            self._asked_v0.discard(head.correlation_id)
            offered = [each.max_version for each in answer.api_keys if each.api_key == ApiKey.API_VERSIONS]
            highest = min([newest(ApiKey.API_VERSIONS), *offered])
            answer.error_code = ErrorCode.UNSUPPORTED_VERSION
            answer.api_keys = [ApiVersion(api_key=ApiKey.API_VERSIONS, min_version=0, max_version=highest)]
        elif not without_unknown_versions(answer):
            return frame
        return _SIZE.pack(header.correlation_id) + answer.encode(version)

    async def _locally(self, address: Address, node_id: int) -> Address:
        self.proxy.learn(node_id, address)
        host = self._to_client.get_extra_info("sockname")[0]
        return await self.proxy.local_address(address, host)


def _close(stream: asyncio.StreamWriter) -> None:
    """Close when everything is written; whoever does not read it in time misses it."""
    stream.close()
    if stream.transport.get_write_buffer_size():
        asyncio.get_running_loop().call_later(LAST_WRITES_S, stream.transport.abort)


def reason_of(error: OSError) -> str:
    """Why a connection failed, without the address that asyncio puts into the text; nothing for a timeout."""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)


def _broken(whose: str, error: OSError) -> Broken:
    return Broken(f"the connection of the {whose} broke: {reason_of(error)}", whose)


async def _read_frame(stream: asyncio.StreamReader, whose: str) -> bytes | None:
    """The next frame without its length; None when the other side has closed, in the middle of a frame too."""
    try:
        prefix = await stream.readexactly(4)
        (size,) = _SIZE.unpack(prefix)
        if not 0 <= size <= MAX_FRAME_BYTES:
            start = prefix + await stream.read(12)
            raise Broken(f"a frame of {size} bytes cannot be (at most {MAX_FRAME_BYTES}){guess_protocol(start)}")
        return await stream.readexactly(size)
    except asyncio.IncompleteReadError:
        return None
    except OSError as error:
        raise _broken(whose, error) from None


async def _write_frame(stream: asyncio.StreamWriter, frame: bytes, whose: str) -> None:
    """Write a frame; a long one in pieces, so that the stream does not hold another copy of it."""
    try:
        if len(frame) <= _PIECE_BYTES:
            stream.write(_SIZE.pack(len(frame)) + frame)
            await stream.drain()
            return
        stream.write(_SIZE.pack(len(frame)))
        view = memoryview(frame)
        for at in range(0, len(view), _PIECE_BYTES):
            stream.write(view[at : at + _PIECE_BYTES])
            await stream.drain()
    except OSError as error:
        raise _broken(whose, error) from None
