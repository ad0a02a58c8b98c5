"""An API's own error layout, where its module has no `error_response` of its own (AV-10).

Most answers have an error code at the top, and that is all they need. In the others the code stands in entries that
mirror those of the request, so that the client can tell which topic or group it is about: `MIRRORS` says which list
mirrors which, and what is repeated of each entry. As in Kafka's `getErrorResponse`, nothing else is filled in.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from fakebroker.broker.engine.subjects import ERROR_CODES
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.schema.message import made
from fakebroker.protocol.schema.types import ArrayOf, Primitive
from fakebroker.protocol.wire.api_keys import ApiKey

ITSELF = ""  # in place of a field's name, where the request's entry is a bare value


class Mirror(NamedTuple):
    """The entries of the answer's list `answered` stand for those of the request's list `asked`, in their order."""

    answered: str
    asked: str  # "dirs.topics": the topics of all dirs
    repeated: dict[str, str]  # field of the answer's entry -> field of the request's entry, or ITSELF
    inner: "Mirror | None" = None  # the same between the lists in the entries


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


_TOPICS = Mirror("topics", "topics", _same("name"), Mirror("partitions", "partitions", _same("partition_index")))
_INDEXES = _TOPICS._replace(inner=Mirror("partitions", "partition_indexes", {"partition_index": ITSELF}))
_RESOURCE = _same("resource_type", "resource_name")
_GROUP_IDS = Mirror("groups", "group_ids", {"group_id": ITSELF})
_SHARE_STATES = Mirror("results", "topics", _same("topic_id"), Mirror("partitions", "partitions", _same("partition")))

# By API key; where there are two, the versions have the one or the other.
MIRRORS: dict[int, tuple[Mirror, ...]] = {
    ApiKey.PRODUCE: (
        Mirror(
            "responses",
            "topic_data",
            _same("name", "topic_id"),
            Mirror("partition_responses", "partition_data", _same("index")),
        ),
    ),
    ApiKey.LIST_OFFSETS: (_TOPICS,),
    ApiKey.METADATA: (Mirror("topics", "topics", _same("name", "topic_id")),),
    ApiKey.OFFSET_COMMIT: (_TOPICS._replace(repeated=_same("name", "topic_id")),),
    ApiKey.OFFSET_FETCH: (
        _INDEXES,
        Mirror("groups", "groups", _same("group_id")),
    ),
    ApiKey.FIND_COORDINATOR: (Mirror("coordinators", "coordinator_keys", {"key": ITSELF}),),
    ApiKey.DESCRIBE_GROUPS: (Mirror("groups", "groups", {"group_id": ITSELF}),),
    ApiKey.CREATE_TOPICS: (Mirror("topics", "topics", _same("name")),),
    ApiKey.DELETE_TOPICS: (
        Mirror("responses", "topic_names", {"name": ITSELF}),
        Mirror("responses", "topics", _same("name", "topic_id")),
    ),
    ApiKey.DELETE_RECORDS: (_TOPICS,),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (
        Mirror("topics", "topics", _same("topic"), Mirror("partitions", "partitions", _same("partition"))),
    ),
    ApiKey.WRITE_TXN_MARKERS: (Mirror("markers", "markers", _same("producer_id"), _INDEXES),),
    ApiKey.TXN_OFFSET_COMMIT: (_TOPICS,),
    ApiKey.DESCRIBE_CONFIGS: (Mirror("results", "resources", _RESOURCE),),
    ApiKey.ALTER_CONFIGS: (Mirror("responses", "resources", _RESOURCE),),
    ApiKey.CREATE_ACLS: (Mirror("results", "creations", {}),),
    ApiKey.DELETE_ACLS: (Mirror("filter_results", "filters", {}),),
    ApiKey.ALTER_REPLICA_LOG_DIRS: (
        Mirror(
            "results",
            "dirs.topics",
            {"topic_name": "name"},
            Mirror("partitions", "partitions", {"partition_index": ITSELF}),
        ),
    ),
    ApiKey.DESCRIBE_LOG_DIRS: (),  # v0 to v2: its entries are the broker's directories, not what was asked for
    ApiKey.CREATE_PARTITIONS: (Mirror("results", "topics", _same("name")),),
    ApiKey.DELETE_GROUPS: (Mirror("results", "groups_names", {"group_id": ITSELF}),),
    # v0
    ApiKey.ELECT_LEADERS: (
        Mirror(
            "replica_election_results",
            "topic_partitions",
            _same("topic"),
            Mirror("partition_result", "partitions", {"partition_id": ITSELF}),
        ),
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (Mirror("responses", "resources", _RESOURCE),),
    ApiKey.DESCRIBE_PRODUCERS: (_INDEXES,),
    ApiKey.DESCRIBE_TRANSACTIONS: (Mirror("transaction_states", "transactional_ids", {"transactional_id": ITSELF}),),
    ApiKey.CONSUMER_GROUP_DESCRIBE: (_GROUP_IDS,),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (Mirror("topics", "topics", _same("name")),),
    ApiKey.SHARE_GROUP_DESCRIBE: (_GROUP_IDS,),
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: (_SHARE_STATES,),
    ApiKey.READ_SHARE_GROUP_STATE: (_SHARE_STATES,),
    ApiKey.WRITE_SHARE_GROUP_STATE: (_SHARE_STATES,),
    ApiKey.DELETE_SHARE_GROUP_STATE: (_SHARE_STATES,),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: (_SHARE_STATES,),
    ApiKey.STREAMS_GROUP_DESCRIBE: (_GROUP_IDS,),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: (Mirror("groups", "groups", _same("group_id")),),
}

# Entries that have a code beside that at the top, or below that of `MIRRORS`: for a fault that means some of them only.
ENTRIES: dict[int, tuple[Mirror, ...]] = {
    # what stands in its entries is made by its module
    ApiKey.FETCH: (Mirror("responses", "topics", _same("topic", "topic_id"),
               Mirror("partitions", "partitions", {"partition_index": "partition"})),),
    ApiKey.OFFSET_FETCH: (
        MIRRORS[ApiKey.OFFSET_FETCH][0],
        Mirror("groups", "groups", _same("group_id"),
               Mirror("topics", "topics", _same("name", "topic_id"),
                      Mirror("partitions", "partition_indexes", {"partition_index": ITSELF}))),
    ),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: (
        Mirror("groups", "groups", _same("group_id"),
               Mirror("topics", "topics", _same("topic_name"),
                      Mirror("partitions", "partitions", {"partition_index": ITSELF}))),
    ),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: (_TOPICS._replace(answered="responses"),),
    ApiKey.OFFSET_DELETE: (_TOPICS,),
}  # fmt: skip


# Where Kafka fills the entries, too, although there is a code at the top (seen on 4.3.1).
BESIDE_TOP: dict[int, tuple[Mirror, ...]] = {
    ApiKey.ELECT_LEADERS: MIRRORS[ApiKey.ELECT_LEADERS],
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: ENTRIES[ApiKey.ALTER_PARTITION_REASSIGNMENTS],
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: (Mirror("results", "users", {"user": "name"}),),
}


def error_response(response: Any, request: Any, version: int, code: ErrorCode) -> Any:
    """The answer of class `response` in which everything that `request` asked for failed with `code`."""
    is_at_top = has_code(response, version)
    answer = response(error_code=int(code)) if is_at_top else response()
    for mirror in (BESIDE_TOP if is_at_top else MIRRORS).get(response.api_key, ()):
        getattr(answer, mirror.answered).extend(error_entries(mirror, response, request, version, code))
    return answer


def error_entries(mirror: Mirror, response: Any, request: Any, version: int, code: ErrorCode) -> list[Any]:
    """The entries of the answer for everything in the list of the request that `mirror` names."""
    return _mirrored(mirror, response, type(request), [request], version, code)


def has_code(declaration: Any, version: int) -> bool:
    """Whether a message, or an entry of a list, has an error code in that version."""
    return _code_field(declaration, version) is not None


def _code_field(declaration: Any, version: int) -> str | None:
    """The name of the field with the error code."""
    there = (spec.name for spec in declaration.fields if spec.versions.includes(version))
    return next((name for name in there if name in ERROR_CODES), None)


def _mirrored(
    mirror: Mirror, answer: Any, request: Any, parents: Iterable[Any], version: int, code: ErrorCode
) -> list[Any]:
    """The entries of `mirror.answered`, for the entries that `parents`, of the declaration `request`, hold."""
    element = element_of(answer, mirror.answered)
    for name in mirror.asked.split("."):
        parents = [entry for parent in parents for entry in value_of(request, parent, name) or ()]
        request = element_of(request, name)
    entries = []
    for entry in parents:
        values = {field: value_of(request, entry, name) for field, name in mirror.repeated.items()}
        values = {field: value for field, value in values.items() if value is not None}
        if not mirror.inner and (code_field := _code_field(element, version)):
            values[code_field] = int(code)
        if mirror.inner:
            values[mirror.inner.answered] = _mirrored(mirror.inner, element, request, [entry], version, code)
        entries.append(made(element, values))
    return entries


def element_of(declaration: Any, name: str) -> Any:
    """The declaration of the entries of the list of that name."""
    kind = next(spec.type for spec in declaration.fields if spec.name == name)
    assert isinstance(kind, ArrayOf)
    return kind.element


def value_of(declaration: Any, entry: Any, name: str) -> Any:
    """A field of an entry: of a structure, a row (a plain tuple), or a bare value."""
    if isinstance(declaration, Primitive):
        return entry
    if declaration.is_row:
        return entry[[spec.name for spec in declaration.fields].index(name)]
    return getattr(entry, name)
