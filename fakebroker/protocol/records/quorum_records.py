"""The control records that a KRaft quorum writes into its log and its snapshots.

Each is alone in a control batch of its own, or with others of these in the first batch of a snapshot. The key says
the type, as that of a transaction marker does; the value is the message in version 0, which the message repeats in its
first field. Kafka: `ControlRecordUtils`.
"""

from struct import Struct as Format
from typing import Final

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records.markers import ControlRecordType, control_record_type
from fakebroker.protocol.schema import Int16, Int32, Int64, Message, Str, Struct, Uuid, field
from fakebroker.protocol.schema import UInt16 as Port

_KEY: Final = Format(">hh")
_VERSION: Final = Format(">h")
_KEY_VERSION: Final = 0


class QuorumVoter(Struct):
    """A voter by its id, and from version 1 on by the id of its directory."""

    voter_id: Int32 = field("0+", entity="brokerId")
    voter_directory_id: Uuid = field("1+")


class LeaderChangeMessage(Message, versions="0-1", flexible="0+"):
    """A leader begins its epoch."""

    version: Int16 = field("0+")
    leader_id: Int32 = field("0+", entity="brokerId")
    voters: list[QuorumVoter] = field("0+")
    granting_voters: list[QuorumVoter] = field("0+")


class SnapshotHeaderRecord(Message, versions="0", flexible="0+"):
    """A snapshot begins; the timestamp is that of the last batch of the log that it contains."""

    version: Int16 = field("0+")
    last_contained_log_timestamp: Int64 = field("0+", entity="timestamp")


class SnapshotFooterRecord(Message, versions="0", flexible="0+"):
    """A snapshot is whole."""

    version: Int16 = field("0+")


class KRaftVersionRecord(Message, versions="0", flexible="0+"):
    """The finalized level of the feature `kraft.version`: 1 allows changes of the voters."""

    version: Int16 = field("0+")
    kraft_version: Int16 = field("0+", kafka_name="KRaftVersion")


class VoterEndpoint(Struct):
    """A listener of a voter."""

    name: Str = field("0+", map_key=True)
    host: Str = field("0+", entity="host")
    port: Port = field("0+", entity="port")


class SupportedKRaftVersions(Struct):
    """The levels of `kraft.version` that a voter supports."""

    min_supported_version: Int16 = field("0+")
    max_supported_version: Int16 = field("0+")


class RegisteredVoter(Struct):
    """A voter and how to reach it."""

    voter_id: Int32 = field("0+", entity="brokerId")
    voter_directory_id: Uuid = field("0+")
    endpoints: list[VoterEndpoint] = field("0+")
    kraft_version_feature: SupportedKRaftVersions = field("0+", kafka_name="KRaftVersionFeature")


class VotersRecord(Message, versions="0", flexible="0+"):
    """The voters of the quorum."""

    version: Int16 = field("0+")
    voters: list[RegisteredVoter] = field("0+")


QuorumRecord = LeaderChangeMessage | SnapshotHeaderRecord | SnapshotFooterRecord | KRaftVersionRecord | VotersRecord

_LAYOUTS: Final[dict[int, type[QuorumRecord]]] = {
    ControlRecordType.LEADER_CHANGE: LeaderChangeMessage,
    ControlRecordType.SNAPSHOT_HEADER: SnapshotHeaderRecord,
    ControlRecordType.SNAPSHOT_FOOTER: SnapshotFooterRecord,
    ControlRecordType.KRAFT_VERSION: KRaftVersionRecord,
    ControlRecordType.KRAFT_VOTERS: VotersRecord,
}
_TYPES: Final = {layout: kind for kind, layout in _LAYOUTS.items()}


def encode_quorum_record(record: QuorumRecord) -> tuple[bytes, bytes]:
    """Key and value of the control record, the value in the version that the record's first field says.

    Raises WireError for a value that the version cannot carry.
    """
    return _KEY.pack(_KEY_VERSION, _TYPES[type(record)]), record.encode(record.version)


def read_quorum_record(key: bytes | None, value: bytes | None) -> QuorumRecord | None:
    """What a control record says; None for one of another type, which readers skip.

    Raises WireError for bytes that cannot be read.
    """
    layout = _LAYOUTS.get(control_record_type(key))
    if layout is None:
        return None
    if value is None or len(value) < _VERSION.size:
        raise WireError(f"a {layout.__name__} is too short for its version: {len(value or b'')} bytes")
    version: int = _VERSION.unpack_from(value)[0]
    return layout.decode(value, min(version, layout.versions.last))[0]
