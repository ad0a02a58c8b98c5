"""Random rights, and requests of clients that have them or not, asked of any broker: what was asked, and the answer.

    answers = RightsHistory(clients, seed=7, settle_ms=40).play()

The same seed asks the same of every broker, so two brokers are compared by what they reported: error codes, names, and
authorized operations. `User:root` is a super user; the listener wants a login by PLAIN with the passwords of `USERS`.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from fakebroker.client.scripted.scripted_client import ScriptedClient, ScriptedClients
from tests.support.rights_requests import NO_ID, REQUESTS, Names, batch
from tests.support.transaction_history import Answered

USERS = {"root": "r", "alice": "a", "bob": "b"}
SETTINGS: Mapping[str, object] = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:root;User:ANONYMOUS",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        + " ".join(f'user_{name}="{password}"' for name, password in USERS.items())
        + ";"
    ),
    "delegation.token.secret.key": "secret",
    "group.initial.rebalance.delay.ms": 0,
    "auto.create.topics.enable": "true",
}
NOT_YET = {3, 5, 6, 14, 15, 16, 51}
_TOPIC, _GROUP, _CLUSTER, _TRANSACTIONAL_ID, _USER = 2, 3, 4, 5, 7
_LITERAL, _PREFIXED = 3, 4
_DENY, _ALLOW = 2, 3
_KEPT = [{"name": "retention.ms", "value": "-1"}]  # the records are of 1970


class RightsHistory:
    """One history. Topics, groups and ids have names of their own, so that a broker may play many of them."""

    def __init__(self, clients: ScriptedClients, seed: int, *, settle_ms: int, steps: int = 80) -> None:
        """`settle_ms`: how long a change takes from the broker to the controller's authorizer, or the other way."""
        self.clients, self.chance, self.steps = clients, Random(seed), steps
        self.settle_ms = settle_ms
        self.names = Names(f"h{seed}")
        self.users: dict[str, ScriptedClient] = {}
        self.acls: list[dict[str, Any]] = []

    def play(self) -> list[Answered]:
        """Everything that was asked, with its answers."""
        for name in USERS:
            self.users[name] = self._logged_in(name)
        self._prepare()
        answers = []
        for _ in range(self.steps):
            for _ in range(self.chance.choice([0, 1, 1, 2])):
                self._change_rights()
            answers += [self._step() for _ in range(3)]
        for _ in range(len(self.acls)):
            self._remove(self.acls.pop())
        self._await_rights()
        return answers

    def _logged_in(self, name: str) -> ScriptedClient:
        client = self.clients.client(name)
        token = f"\0{name}\0{USERS[name]}".encode()
        assert client.request("SaslHandshake", 1, mechanism="PLAIN").error_code == 0
        assert client.request("SaslAuthenticate", 2, auth_bytes=token).error_code == 0
        return client

    def _prepare(self) -> None:
        """Two topics with a record each, two groups with offsets, a transactional id."""
        names = self.names
        topics = names.topics[:2]
        for topic in topics:
            new = {"name": topic, "num_partitions": 1, "replication_factor": 1, "configs": _KEPT}
            created = self.users["root"].request("CreateTopics", 7, topics=[new], timeout_ms=10_000)
            names.topic_ids[topic] = created.topics[0].topic_id
        self._await("Metadata", 12, topics=[{"name": each} for each in topics], allow_auto_topic_creation=False)
        for topic in topics:
            data = [{"name": topic, "partition_data": [{"index": 0, "records": batch()}]}]
            self._await("Produce", 9, acks=-1, timeout_ms=5000, topic_data=data)
        partitions = [{"partition_index": 0, "committed_offset": 1}]
        for group in names.groups[:2]:
            self._await("FindCoordinator", 4, key_type=0, coordinator_keys=[group])
            offsets = [{"name": each, "partitions": partitions} for each in topics]
            self._await("OffsetCommit", 8, group_id=group, topics=offsets)
        self._await("FindCoordinator", 6, key_type=2, coordinator_keys=[f"{names.groups[0]}:{NO_ID}:0"])
        own_id = names.transactional_ids[0]
        self._await("FindCoordinator", 4, key_type=1, coordinator_keys=[own_id])
        self._await("InitProducerId", 4, transactional_id=own_id, transaction_timeout_ms=60_000)

    def _await(self, api: str, version: int, **fields: Any) -> None:
        """Ask again until there is no error that passes."""
        for _ in range(100):
            codes = codes_in(self._ask("root", api, version, **fields))
            if not NOT_YET.intersection(codes):
                assert set(codes) == {0}, f"{api}: {codes}"
                return
            self.clients.driver.pass_time(50, lambda: False)
        raise AssertionError("the broker does not get ready")

    # Rights

    def _change_rights(self) -> None:
        if self.acls and self.chance.random() < 0.4:
            self._remove(self.acls.pop(self.chance.randrange(len(self.acls))))
        else:
            entry = self._some_entry()
            if entry not in self.acls:
                self.acls.append(entry)
            self._ask("root", "CreateAcls", 3, creations=[entry])
        self._await_rights()

    def _await_rights(self) -> None:
        """Wait until the broker knows what the controller has stored, which may take half a second."""
        wanted = sorted(tuple(entry.values()) for entry in self.acls)
        for _ in range(200):
            if self._stored() == wanted:
                self.clients.driver.pass_time(self.settle_ms, lambda: False)
                return
            self.clients.driver.pass_time(20, lambda: False)
        raise AssertionError("the broker does not learn of the rights")

    def _stored(self) -> list[tuple[Any, ...]]:
        """All ACLs of the broker, as the fields of a creation."""
        everything = {
            "resource_type_filter": 1,
            "resource_name_filter": None,
            "pattern_type_filter": 1,
            "principal_filter": None,
            "host_filter": None,
            "operation": 1,
            "permission_type": 1,
        }
        answer = self.users["root"].request("DescribeAcls", 3, **everything)
        return sorted(
            (each.resource_type, each.resource_name, each.pattern_type, *_acl(acl))
            for each in answer.resources
            for acl in each.acls
        )

    def _remove(self, entry: Mapping[str, Any]) -> None:
        wanted = {
            "resource_type_filter": entry["resource_type"],
            "resource_name_filter": entry["resource_name"],
            "pattern_type_filter": entry["resource_pattern_type"],
            "principal_filter": entry["principal"],
            "host_filter": entry["host"],
            "operation": entry["operation"],
            "permission_type": entry["permission_type"],
        }
        self._ask("root", "DeleteAcls", 3, filters=[wanted])

    def _some_entry(self) -> dict[str, Any]:
        choice, names = self.chance.choice, self.names
        resource_type = choice([_TOPIC] * 5 + [_GROUP] * 3 + [_CLUSTER, _CLUSTER, _TRANSACTIONAL_ID, _USER])
        pattern_type = choice([_LITERAL, _LITERAL, _LITERAL, _PREFIXED])
        named = {
            _TOPIC: names.topics,
            _GROUP: names.groups,
            _CLUSTER: ["kafka-cluster"],
            _TRANSACTIONAL_ID: names.transactional_ids,
            _USER: ["User:alice", "User:bob"],
        }[resource_type]
        name = choice(named)
        if resource_type != _CLUSTER:
            if pattern_type == _PREFIXED:
                name = choice([name[:-1], name, names.prefix])
            elif resource_type != _USER and self.chance.random() < 0.1:
                name = "*"
        operations = {
            _TOPIC: [2, 3, 3, 4, 4, 5, 6, 7, 8, 8, 10, 11],
            _GROUP: [2, 3, 3, 6, 8, 8, 10, 11],
            _CLUSTER: [2, 5, 7, 8, 9, 10, 11, 12],
            _TRANSACTIONAL_ID: [2, 4, 8, 15],
            _USER: [13, 14],
        }[resource_type]
        return {
            "resource_type": resource_type,
            "resource_name": name,
            "resource_pattern_type": _LITERAL if resource_type == _CLUSTER else pattern_type,
            "principal": choice(["User:alice", "User:alice", "User:bob", "User:*"]),
            "host": choice(["*", "*", "*", "127.0.0.1", "10.1.2.3"]),
            "operation": choice(operations),
            "permission_type": choice([_ALLOW, _ALLOW, _ALLOW, _DENY]),
        }

    # Requests

    def _step(self) -> Answered:
        user = self.chance.choice(["alice", "alice", "bob"])
        make = self.chance.choice(REQUESTS)
        api, version, fields = make(self.chance, self.names)
        asked = f"{user}: {api} v{version} {self._named(fields)} by {self._rights_of(user)}"
        return Answered(asked, self._ask(user, api, version, **fields))

    def _ask(self, user: str, api: str, version: int, **fields: Any) -> Any:
        answer = self.users[user].request(api, version, **fields)
        return answers_about(answer)

    def _named(self, value: Any) -> Any:
        """Fields as they are reported: ids by the names of their topics."""
        if isinstance(value, bytes):
            known = {topic_id: name for name, topic_id in self.names.topic_ids.items()}
            return known.get(value, "bytes")
        if isinstance(value, Mapping):
            return {name: self._named(each) for name, each in value.items()}
        return [self._named(each) for each in value] if isinstance(value, list) else value

    def _rights_of(self, user: str) -> list[str]:
        return [
            " ".join(map(str, each.values())) for each in self.acls if each["principal"] in (f"User:{user}", "User:*")
        ]


_SHOWN = (
    "error_code",
    "partition_error_code",
    "acknowledge_error_code",
    "topic_config_error_code",
    "name",
    "topic",
    "topic_name",
    "key",
    "group_id",
    "resource_name",
    "resource_type",
    "transactional_id",
    "partition_index",
    "index",
    "partition",
    "authorized_operations",
    "topic_authorized_operations",
    "cluster_authorized_operations",
    "committed_offset",
    "config_name",
    "group_state",
    "transaction_state",
    "base_offset",
)


def _acl(acl: Any) -> tuple[str, str, int, int]:
    return acl.principal, acl.host, acl.operation, acl.permission_type


def codes_in(answers: Any) -> list[int]:
    """All error codes of an answer."""
    if isinstance(answers, list):
        return [code for each in answers for code in codes_in(each)]
    if not isinstance(answers, dict):
        return []
    own = [value for name, value in answers.items() if name.endswith("error_code")]
    return own + [code for value in answers.values() for code in codes_in(value)]


def answers_about(value: Any) -> Any:
    """What two brokers have to tell alike of an answer: see `_SHOWN`; lists without their order."""
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return sorted((answers_about(each) for each in value), key=repr)
    if not hasattr(value, "fields"):
        return value
    answers = {}
    for spec in value.fields:
        inner = getattr(value, spec.name)
        if spec.name in _SHOWN:
            answers[spec.name] = inner
        elif isinstance(inner, list) and inner and (hasattr(inner[0], "fields") or isinstance(inner[0], tuple)):
            rows = _rows(spec, inner)
            if any(rows):  # else only things of earlier histories, or nothing that is compared
                answers[spec.name] = rows
    return answers


def _rows(spec: Any, entries: list[Any]) -> Any:
    if hasattr(entries[0], "fields"):
        return answers_about(entries)
    names = [each.name for each in spec.type.element.fields]
    rows = [{name: each for name, each in zip(names, entry, strict=True) if name in _SHOWN} for entry in entries]
    return sorted(rows, key=repr)
