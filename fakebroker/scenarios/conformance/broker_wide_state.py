"""What cases may leave on a broker that is no topic and no group: ACLs, quotas, credentials of users."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

from fakebroker.protocol.errors import ErrorCode, error_name
from fakebroker.scenarios.conformance.access import BrokerClient

_ANY = 1  # of types, operations and permissions in filters of ACLs


class State(NamedTuple):
    """The ACLs, quotas and credentials that there are; each as what deletes it."""

    acls: frozenset[Hashable] = frozenset()
    quotas: frozenset[Hashable] = frozenset()
    users: frozenset[Hashable] = frozenset()


def state(client: BrokerClient, versions: Mapping[str, tuple[int, int]]) -> State:
    """What there is; nothing of a kind that the broker does not serve, or does not have enabled."""
    return State(
        frozenset(_acls(client)) if "DescribeAcls" in versions else frozenset(),
        frozenset(_quotas(client)) if "DescribeClientQuotas" in versions else frozenset(),
        frozenset(_users(client)) if "DescribeUserScramCredentials" in versions else frozenset(),
    )


def remove_new(client: BrokerClient, versions: Mapping[str, tuple[int, int]], before: State) -> list[str]:
    """Delete what was not there before. Returns what could not be deleted, in words."""
    now = state(client, versions)
    kinds: list[tuple[frozenset[Hashable], frozenset[Hashable], Callable[[BrokerClient, Any], int], str]] = [
        (now.acls, before.acls, _delete_acl, "ACL"),
        (now.quotas, before.quotas, _delete_quota, "quota"),
        (now.users, before.users, _delete_user, "SCRAM credential"),
    ]
    return [
        f"{word} {each}: {error_name(code)}"
        for found, had, delete, word in kinds
        for each in sorted(found - had, key=str)
        if (code := delete(client, each))
    ]


def _acls(client: BrokerClient) -> list[Hashable]:
    everything = {
        "resource_type_filter": _ANY,
        "resource_name_filter": None,
        "pattern_type_filter": _ANY,
        "principal_filter": None,
        "host_filter": None,
        "operation": _ANY,
        "permission_type": _ANY,
    }
    return [
        (
            one.resource_type,
            one.resource_name,
            one.pattern_type,
            acl.principal,
            acl.host,
            acl.operation,
            acl.permission_type,
        )
        for one in client.get("DescribeAcls", **everything).resources
        for acl in one.acls
    ]


def _delete_acl(client: BrokerClient, acl: tuple[Any, ...]) -> int:
    kind, name, pattern, principal, host, operation, permission = acl
    wanted = {
        "resource_type_filter": kind,
        "resource_name_filter": name,
        "pattern_type_filter": pattern,
        "principal_filter": principal,
        "host_filter": host,
        "operation": operation,
        "permission_type": permission,
    }
    return int(client.get("DeleteAcls", filters=[wanted]).filter_results[0].error_code)


def _quotas(client: BrokerClient) -> list[Hashable]:
    answer = client.get("DescribeClientQuotas", components=[], strict=False)
    return [
        (tuple(sorted((each.entity_type, each.entity_name) for each in entry.entity)), value.key)
        for entry in answer.entries or []
        for value in entry.values
    ]


def _delete_quota(client: BrokerClient, quota: tuple[tuple[tuple[str, str | None], ...], str]) -> int:
    entity, key = quota
    entry = {
        "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity],
        "ops": [{"key": key, "value": 0.0, "remove": True}],
    }
    return int(client.get("AlterClientQuotas", entries=[entry], validate_only=False).entries[0].error_code)


def _users(client: BrokerClient) -> list[Hashable]:
    answer = client.get("DescribeUserScramCredentials", users=None)
    found = [result for result in answer.results if result.error_code == ErrorCode.NONE]
    return [(result.user, each.mechanism) for result in found for each in result.credential_infos]


def _delete_user(client: BrokerClient, user: tuple[str, int]) -> int:
    name, mechanism = user
    deletions = [{"name": name, "mechanism": mechanism}]
    answer = client.get("AlterUserScramCredentials", deletions=deletions, upsertions=[])
    return int(answer.results[0].error_code)
