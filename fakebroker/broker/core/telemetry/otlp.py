"""The metrics in a push: OpenTelemetry's MetricsData in protobuf, as far as Kafka's clients write it (KIP-714).

Read are gauges and sums of numbers, with the attributes of points and resource. Other kinds of metrics, and fields that
are not known, are passed over.
"""

from collections.abc import Iterator
from struct import unpack
from typing import Any, NamedTuple

from fakebroker.protocol.errors import WireError

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT_BITS = 70
_CUMULATIVE = 2

# Field numbers of opentelemetry/proto/metrics/v1/metrics.proto.
_RESOURCE_METRICS = 1
_RESOURCE, _SCOPE_METRICS = 1, 2
_RESOURCE_ATTRIBUTES = 1
_METRICS = 2
_NAME, _GAUGE, _SUM = 1, 5, 7
_DATA_POINTS, _TEMPORALITY = 1, 2
_START_TIME, _TIME, _AS_DOUBLE, _AS_INT, _POINT_ATTRIBUTES = 2, 3, 4, 6, 7
_KEY, _VALUE = 1, 2
_STRING_VALUE, _BOOL_VALUE, _INT_VALUE, _DOUBLE_VALUE = 1, 2, 3, 4

MAX_FIELDS = 100_000
"""Of protobuf that are read of one push, whose metrics have some 15 each; it takes some 0.1 s to read so many."""

Attributes = dict[str, Any]


class MetricPoint(NamedTuple):
    """One number that a client measured.

    `kind` is "gauge" or "sum"; `is_delta`: a sum since the push before, else since the start. `attributes` are the
    point's, after those of the resource, such as `client_rack`; `time_ms` is when, by the client's clock.
    """

    name: str
    kind: str
    value: float
    is_delta: bool
    attributes: Attributes
    time_ms: int


def read_metrics(payload: bytes) -> list[MetricPoint]:
    """All numbers of a push. Points without a number are passed over, too.

    Raises WireError for what is not protobuf of this kind, and for more than MAX_FIELDS.
    """
    return _Reader().read(payload)


class _Reader:
    """Reads one push, and counts what it reads."""

    def __init__(self) -> None:
        self._left = MAX_FIELDS

    def read(self, payload: bytes) -> list[MetricPoint]:
        points: list[MetricPoint] = []
        for number, resource_metrics in self._fields(payload):
            if number == _RESOURCE_METRICS:
                parts = list(self._fields(_part(resource_metrics)))
                resource = self._attributes(
                    [part for number, part in parts if number == _RESOURCE], _RESOURCE_ATTRIBUTES
                )
                for scope in [part for number, part in parts if number == _SCOPE_METRICS]:
                    for metric in [part for number, part in self._fields(_part(scope)) if number == _METRICS]:
                        points += self._points(_part(metric), resource)
        return points

    def _points(self, metric: bytes, resource: Attributes) -> Iterator[MetricPoint]:
        fields = list(self._fields(metric))
        name = next((_text(value) for number, value in fields if number == _NAME), "")
        for number, value in fields:
            if number in (_GAUGE, _SUM):
                data = list(self._fields(_part(value)))
                temporality = next((each for number_, each in data if number_ == _TEMPORALITY), _CUMULATIVE)
                is_delta = number == _SUM and temporality != _CUMULATIVE
                for point in [each for number_, each in data if number_ == _DATA_POINTS]:
                    yield from self._point(
                        name, "gauge" if number == _GAUGE else "sum", is_delta, _part(point), resource
                    )

    def _point(self, name: str, kind: str, is_delta: bool, point: bytes, resource: Attributes) -> Iterator[MetricPoint]:
        """The number of a point, if it has one."""
        fields = dict(self._fields(point))
        if _AS_DOUBLE in fields:
            value = float(unpack("<d", _fixed(fields[_AS_DOUBLE]))[0])
        elif _AS_INT in fields:
            value = float(unpack("<q", _fixed(fields[_AS_INT]))[0])
        else:
            return
        time_ns = unpack("<Q", _fixed(fields.get(_TIME, bytes(8))))[0]
        self._count(len(resource))  # they are copied
        attributes = resource | self._attributes([point], _POINT_ATTRIBUTES)
        yield MetricPoint(name, kind, value, is_delta, attributes, time_ns // 1_000_000)

    def _attributes(self, messages: "list[Any]", attributes_field: int) -> Attributes:
        """The attributes of messages in whose field of that number they stand."""
        found: Attributes = {}
        for message in messages:
            for number, pair in self._fields(_part(message)):
                if number == attributes_field:
                    parts = dict(self._fields(_part(pair)))
                    found[_text(parts.get(_KEY, b""))] = self._value(_part(parts.get(_VALUE, b"")))
        return found

    def _value(self, value: bytes) -> Any:
        for number, content in self._fields(value):
            if number == _STRING_VALUE:
                return _text(content)
            if number == _BOOL_VALUE:
                return bool(content)
            if number == _INT_VALUE:
                return content - (1 << 64) if content >= 1 << 63 else content
            if number == _DOUBLE_VALUE:
                return unpack("<d", _fixed(content))[0]
        return None

    def _fields(self, message: bytes) -> Iterator[tuple[int, Any]]:
        """The fields of a message, counted."""
        for field in _fields(message):
            self._count(1)
            yield field

    def _count(self, fields: int) -> None:
        self._left -= fields
        if self._left < 0:
            raise WireError(f"the metrics have more than {MAX_FIELDS} fields")


# Protobuf


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message in their order: number, and a number or the bytes of it. Raises WireError."""
    position = 0
    while position < len(message):
        tag, position = _varint(message, position)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value, position = _varint(message, position)
            yield number, value
            continue
        if kind == _BYTES:
            size, position = _varint(message, position)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise WireError(f"protobuf: wire type {kind}")
        if size > len(message) - position:
            raise WireError(f"protobuf: a field of {size} bytes, but only {len(message) - position} are left")
        yield number, message[position : position + size]
        position += size


def _varint(message: bytes, position: int) -> tuple[int, int]:
    """A number of variable length, and where it ends. Raises WireError."""
    value = shift = 0
    while position < len(message) and shift < _LONGEST_VARINT_BITS:
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise WireError("protobuf: a number is truncated")


def _part(value: Any) -> bytes:
    """A message in a field. Raises WireError for a number."""
    if not isinstance(value, bytes):
        raise WireError("protobuf: a number instead of a message")
    return value


def _fixed(value: Any) -> bytes:
    """Eight bytes. Raises WireError for anything else."""
    if not isinstance(value, bytes) or len(value) != 8:
        raise WireError("protobuf: not a number of eight bytes")
    return value


def _text(value: Any) -> str:
    """A text in a field. Raises WireError for what is none."""
    try:
        return _part(value).decode()
    except UnicodeDecodeError:
        raise WireError("protobuf: a string is not UTF-8") from None
