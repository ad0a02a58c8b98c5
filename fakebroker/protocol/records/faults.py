"""What can be wrong with record data that a client sends; each fault carries the code that Kafka answers to Produce."""

from fakebroker.protocol.errors import ErrorCode, KafkaError


class InvalidRecord(KafkaError):
    """Record data that does not add up (PD-14, RB-1, RB-4): INVALID_RECORD. The message says what and where."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.INVALID_RECORD) -> None:
        super().__init__(code, message)


class CorruptBatch(InvalidRecord):
    """A batch or message whose checksum or magic is wrong (PD-12, PD-14, PD-31): CORRUPT_MESSAGE."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ErrorCode.CORRUPT_MESSAGE)


class TooLarge(InvalidRecord):
    """Compressed data that unpacks to more than is allowed: INVALID_RECORD."""


class BadCompression(InvalidRecord):
    """A payload that its codec cannot unpack, or a codec that does not exist (PD-12): UNKNOWN_SERVER_ERROR."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ErrorCode.UNKNOWN_SERVER_ERROR)
