"""The table of APIs: their versions, and the modules of their messages, which are imported when first used.

Versions after which requests change have names here: `newest_by_name(ApiKey.OFFSET_FETCH)` is the last that names
topics, `newest_for_one(ApiKey.OFFSET_FETCH)` the last that is about one group.
"""

from functools import cached_property
from importlib import import_module
from typing import cast

from fakebroker.protocol.errors import WHERE_APIS, nearest
from fakebroker.protocol.schema import Message
from fakebroker.protocol.wire.api_keys import ApiKey

_MESSAGES = "fakebroker.protocol.wire.messages"


class Api:
    """One API: its key and name, the versions we have messages for, and the first version with tagged fields."""

    def __init__(self, key: ApiKey, newest: int, flexible_from: int | None) -> None:
        self.key = int(key)  # frames have plain numbers: a dictionary finds the same object faster than an equal one
        self.name = key.api_name
        self.module = key.name.lower()  # of its messages, and of its handler in broker/apis/
        self.min = 0
        self.max = newest
        self.flexible_from = flexible_from

    def __repr__(self) -> str:
        return f"<Api {self.name} ({self.key}), v{self.min} to v{self.max}>"

    def is_flexible(self, version: int) -> bool:
        """Whether that version has compact lengths, tagged fields and the headers that go with them."""
        return self.flexible_from is not None and version >= self.flexible_from

    @cached_property
    def request(self) -> type[Message]:
        """The request's class."""
        return self._message("Request")

    @cached_property
    def response(self) -> type[Message]:
        """The response's class."""
        return self._message("Response")

    def _message(self, kind: str) -> type[Message]:
        return cast(type[Message], getattr(import_module(f"{_MESSAGES}.{self.module}"), self.name + kind))


_TABLE = (
    Api(ApiKey.PRODUCE, 13, 9),
    Api(ApiKey.FETCH, 18, 12),
    Api(ApiKey.LIST_OFFSETS, 11, 6),
    Api(ApiKey.METADATA, 13, 9),
    Api(ApiKey.OFFSET_COMMIT, 10, 8),
    Api(ApiKey.OFFSET_FETCH, 10, 6),
    Api(ApiKey.FIND_COORDINATOR, 6, 3),
    Api(ApiKey.JOIN_GROUP, 9, 6),
    Api(ApiKey.HEARTBEAT, 4, 4),
    Api(ApiKey.LEAVE_GROUP, 5, 4),
    Api(ApiKey.SYNC_GROUP, 5, 4),
    Api(ApiKey.DESCRIBE_GROUPS, 6, 5),
    Api(ApiKey.LIST_GROUPS, 5, 3),
    Api(ApiKey.SASL_HANDSHAKE, 1, None),
    Api(ApiKey.API_VERSIONS, 4, 3),
    Api(ApiKey.CREATE_TOPICS, 7, 5),
    Api(ApiKey.DELETE_TOPICS, 6, 4),
    Api(ApiKey.DELETE_RECORDS, 2, 2),
    Api(ApiKey.INIT_PRODUCER_ID, 6, 2),
    Api(ApiKey.OFFSET_FOR_LEADER_EPOCH, 4, 4),
    Api(ApiKey.ADD_PARTITIONS_TO_TXN, 5, 3),
    Api(ApiKey.ADD_OFFSETS_TO_TXN, 4, 3),
    Api(ApiKey.END_TXN, 5, 3),
    Api(ApiKey.WRITE_TXN_MARKERS, 2, 1),
    Api(ApiKey.TXN_OFFSET_COMMIT, 5, 3),
    Api(ApiKey.DESCRIBE_ACLS, 3, 2),
    Api(ApiKey.CREATE_ACLS, 3, 2),
    Api(ApiKey.DELETE_ACLS, 3, 2),
    Api(ApiKey.DESCRIBE_CONFIGS, 4, 4),
    Api(ApiKey.ALTER_CONFIGS, 2, 2),
    Api(ApiKey.ALTER_REPLICA_LOG_DIRS, 2, 2),
    Api(ApiKey.DESCRIBE_LOG_DIRS, 5, 2),
    Api(ApiKey.SASL_AUTHENTICATE, 2, 2),
    Api(ApiKey.CREATE_PARTITIONS, 3, 2),
    Api(ApiKey.CREATE_DELEGATION_TOKEN, 3, 2),
    Api(ApiKey.RENEW_DELEGATION_TOKEN, 2, 2),
    Api(ApiKey.EXPIRE_DELEGATION_TOKEN, 2, 2),
    Api(ApiKey.DESCRIBE_DELEGATION_TOKEN, 3, 2),
    Api(ApiKey.DELETE_GROUPS, 2, 2),
    Api(ApiKey.ELECT_LEADERS, 2, 2),
    Api(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, 1),
    Api(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 1, 0),
    Api(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, 0),
    Api(ApiKey.OFFSET_DELETE, 0, None),
    Api(ApiKey.DESCRIBE_CLIENT_QUOTAS, 1, 1),
    Api(ApiKey.ALTER_CLIENT_QUOTAS, 1, 1),
    Api(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, 0),
    Api(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, 0),
    Api(ApiKey.DESCRIBE_QUORUM, 2, 0),
    Api(ApiKey.UPDATE_FEATURES, 2, 0),
    Api(ApiKey.DESCRIBE_CLUSTER, 2, 0),
    Api(ApiKey.DESCRIBE_PRODUCERS, 0, 0),
    Api(ApiKey.UNREGISTER_BROKER, 0, 0),
    Api(ApiKey.DESCRIBE_TRANSACTIONS, 0, 0),
    Api(ApiKey.LIST_TRANSACTIONS, 2, 0),
    Api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, 0),
    Api(ApiKey.CONSUMER_GROUP_DESCRIBE, 1, 0),
    Api(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, 0, 0),
    Api(ApiKey.PUSH_TELEMETRY, 0, 0),
    Api(ApiKey.LIST_CONFIG_RESOURCES, 1, 0),
    Api(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, 0),
    Api(ApiKey.SHARE_GROUP_HEARTBEAT, 1, 0),
    Api(ApiKey.SHARE_GROUP_DESCRIBE, 1, 0),
    Api(ApiKey.SHARE_FETCH, 2, 0),
    Api(ApiKey.SHARE_ACKNOWLEDGE, 2, 0),
    Api(ApiKey.ADD_RAFT_VOTER, 1, 0),
    Api(ApiKey.REMOVE_RAFT_VOTER, 0, 0),
    Api(ApiKey.INITIALIZE_SHARE_GROUP_STATE, 0, 0),
    Api(ApiKey.READ_SHARE_GROUP_STATE, 0, 0),
    Api(ApiKey.WRITE_SHARE_GROUP_STATE, 1, 0),
    Api(ApiKey.DELETE_SHARE_GROUP_STATE, 0, 0),
    Api(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, 1, 0),
    Api(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, 0),
    Api(ApiKey.STREAMS_GROUP_DESCRIBE, 0, 0),
    Api(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 1, 0),
    Api(ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, 0),
    Api(ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, 0),
)

APIS = {entry.key: entry for entry in _TABLE}
_BY_NAME = {entry.name: entry for entry in _TABLE}


def api(name_or_key: str | int) -> Api:
    """An API by its name or key. Raises KeyError for one we have no messages for."""
    found = APIS.get(name_or_key) if isinstance(name_or_key, int) else _BY_NAME.get(name_or_key)
    if found is None:
        raise KeyError(no_api(name_or_key))
    return found


def no_api(name: object) -> str:
    """The sentence about a name that no API has."""
    return f"there is no API {name!r}; {nearest(name, _BY_NAME, WHERE_APIS)}"


# The last versions that name topics; those after them have topic ids.
_NEWEST_BY_NAME: dict[int, int] = {
    ApiKey.PRODUCE: 12,
    ApiKey.FETCH: 12,
    ApiKey.METADATA: 9,
    ApiKey.OFFSET_COMMIT: 9,
    ApiKey.OFFSET_FETCH: 9,
    ApiKey.DELETE_TOPICS: 5,
}
_NAMES_BESIDE_IDS = frozenset({ApiKey.METADATA, ApiKey.DELETE_TOPICS})  # in the versions after those
# The last versions that are about one group, key, member or transaction; those after them have lists of these.
_NEWEST_FOR_ONE = {
    ApiKey.OFFSET_FETCH: 7,
    ApiKey.FIND_COORDINATOR: 3,
    ApiKey.LEAVE_GROUP: 2,
    ApiKey.ADD_PARTITIONS_TO_TXN: 3,
}
# The last versions of the first transaction protocol; those after them add partitions and raise epochs (KIP-890).
_NEWEST_OF_PROTOCOL_1 = {
    ApiKey.PRODUCE: 11,
    ApiKey.INIT_PRODUCER_ID: 4,
    ApiKey.END_TXN: 4,
    ApiKey.TXN_OFFSET_COMMIT: 4,
}
# The last versions in which a client sets the retention of its offsets (KIP-211).
_NEWEST_WITH_RETENTION = {ApiKey.OFFSET_COMMIT: 4}
# The first versions that are refused beyond a quota; those before are throttled only (KIP-599).
_FIRST_STRICT: dict[int, int] = {ApiKey.CREATE_TOPICS: 6, ApiKey.DELETE_TOPICS: 5, ApiKey.CREATE_PARTITIONS: 3}
# The first versions in which a client can have no topics created by asking for them.
_FIRST_WITHOUT_CREATION = {ApiKey.METADATA: 4}
# The first versions that members of groups without a leader speak (KIP-848).
_FIRST_OF_MODERN_GROUPS = {ApiKey.OFFSET_COMMIT: 9}


def newest(key: ApiKey) -> int:
    """The last version that we have messages for."""
    return APIS[key].max


def newest_by_name(key: int) -> int:
    """The last version that names topics, where later ones have ids; else the newest."""
    return _NEWEST_BY_NAME.get(key, APIS[key].max)


def newest_for_one(key: ApiKey) -> int:
    """The last version about one group, key, member or transaction, where later ones have lists; else the newest."""
    return _NEWEST_FOR_ONE.get(key, APIS[key].max)


def newest_of_protocol_1(key: ApiKey) -> int:
    """The last version of the first transaction protocol, where later ones mean the second; else the newest."""
    return _NEWEST_OF_PROTOCOL_1.get(key, APIS[key].max)


def newest_with_retention(key: ApiKey) -> int:
    """The last version with a retention of offsets. Raises KeyError for an API that has none."""
    return _NEWEST_WITH_RETENTION[key]


def first_strict(key: int) -> int:
    """The first version that is refused beyond a quota. Raises KeyError for an API that has no such quota."""
    return _FIRST_STRICT[key]


def first_without_creation(key: ApiKey) -> int:
    """The first version that need not create the topics that it names. Raises KeyError for an API that creates none."""
    return _FIRST_WITHOUT_CREATION[key]


def names_by_id(key: int, version: int) -> bool:
    """Whether that version of an API names topics by their ids alone, where older ones have names."""
    return key not in _NAMES_BESIDE_IDS and version > newest_by_name(key)


def first_of_modern_groups(key: ApiKey) -> int:
    """The first version for members of consumer and streams groups. Raises KeyError for an API that all may use."""
    return _FIRST_OF_MODERN_GROUPS[key]
