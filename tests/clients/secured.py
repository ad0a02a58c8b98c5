"""Brokers where clients log in: a real Kafka and a fakebroker with the same settings, and with the same stories.

Whatever a story changes while they run, it changes by Kafka's own requests, on the listener without a login.
"""

import base64
import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from fakebroker import FakeBroker
from fakebroker.client.scripted.scripted_client import ScriptedClient, ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.protocol.listeners import Address
from tests.support.eventually import eventually
from tests.support.real_kafka import needs_real_kafka, running_kafka

PLAINTEXT, SASL_PLAINTEXT = "PLAINTEXT", "SASL_PLAINTEXT"
ONLY_LOGINS = {SASL_PLAINTEXT: SASL_PLAINTEXT}
SCRAM = {"SCRAM-SHA-256": (1, "sha256"), "SCRAM-SHA-512": (2, "sha512")}
PASSWORDS = {"alice": "pa", "bob": "pb"}
ITERATIONS = 4096
TOPIC, GROUP = 2, 3
LITERAL, PREFIXED = 3, 4
ANY_PERMISSION, DENY, ALLOW = 1, 2, 3
OPERATIONS = {"all": 2, "read": 3, "write": 4}

_MODULES = "org.apache.kafka.common.security"
_USERS = " ".join(f'user_{user}="{password}"' for user, password in PASSWORDS.items())
_JAAS = {
    "plain": f"{_MODULES}.plain.PlainLoginModule required {_USERS};",
    "scram-sha-256": f"{_MODULES}.scram.ScramLoginModule required;",
    "scram-sha-512": f"{_MODULES}.scram.ScramLoginModule required;",
    "oauthbearer": f'{_MODULES}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";',
}
SETTINGS: dict[str, str | int] = {
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
    "delegation.token.secret.key": "a-secret-for-tokens",
    "group.initial.rebalance.delay.ms": 0,
    **{f"listener.name.sasl_plaintext.{name}.sasl.jaas.config": text for name, text in _JAAS.items()},
}
AUTHORIZER: dict[str, str | int] = {  # who comes without a login may do everything
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


class SecuredServer:
    """A broker with several listeners, and what a story changes there.

    Args:
        addresses: HOST:PORT by the listener's name; PLAINTEXT is without a login.
        broker: The fakebroker, None for a Kafka.
    """

    def __init__(self, addresses: dict[str, str], broker: FakeBroker | None = None) -> None:
        self.addresses, self.broker = addresses, broker
        host, port = addresses[PLAINTEXT].rsplit(":", 1)
        self._clients = ScriptedClients(TcpDriver(host, int(port)))
        self.admin = self._clients.client("admin")

    def create_topic(self, name: str) -> str:
        """A new topic of one partition, which is there when this returns."""
        assert [each.error_code for each in self.admin.create_topic(name, 1).topics] == [0]
        eventually(lambda: self.admin.request("Metadata", topics=[{"name": name}]).topics[0].error_code == 0)
        return name

    def set_password(self, user: str, password: str) -> None:
        """Give a user credentials of both SCRAM mechanisms."""
        salt = b"salt of " + user.encode()
        changes = [
            {
                "name": user,
                "mechanism": number,
                "iterations": ITERATIONS,
                "salt": salt,
                "salted_password": hashlib.pbkdf2_hmac(hash_name, password.encode(), salt, ITERATIONS),
            }
            for number, hash_name in SCRAM.values()
        ]
        for change in changes:  # a user may stand in a request once
            self._changed_credentials(deletions=[], upsertions=[change])

    def remove_passwords(self, user: str) -> None:
        """Take a user's credentials of SCRAM."""
        for number, _ in SCRAM.values():
            self._changed_credentials(deletions=[{"name": user, "mechanism": number}], upsertions=[])

    def _changed_credentials(self, **changes: list[dict[str, Any]]) -> None:
        answer = self.admin.request("AlterUserScramCredentials", 0, **changes)
        assert [(each.error_code, each.error_message) for each in answer.results] == [(0, None)]

    def allow(self, user: str, operation: str, *, topic: str = "", group: str = "", prefixed: bool = False) -> None:
        """Allow a user something of a topic or a group."""
        self._create_acl(_binding(user, operation, ALLOW, topic, group, prefixed))

    def deny(self, user: str, operation: str, *, topic: str = "", group: str = "", prefixed: bool = False) -> None:
        """Deny it."""
        self._create_acl(_binding(user, operation, DENY, topic, group, prefixed))

    def take_back(self, user: str, operation: str, *, topic: str = "", group: str = "", prefixed: bool = False) -> None:
        """Remove what was allowed, or what was denied."""
        binding = _binding(user, operation, ANY_PERMISSION, topic, group, prefixed)
        filters = {name: name.replace("resource_name", "resource_name_filter") for name in binding}
        filters |= {"resource_type": "resource_type_filter", "resource_pattern_type": "pattern_type_filter"}
        filters |= {"principal": "principal_filter", "host": "host_filter"}
        wanted = {filters[name]: value for name, value in binding.items()}
        answer = self.admin.request("DeleteAcls", filters=[wanted])
        assert [(each.error_code, len(each.matching_acls)) for each in answer.filter_results] == [(0, 1)]

    def _create_acl(self, binding: dict[str, Any]) -> None:
        answer = self.admin.request("CreateAcls", creations=[binding])
        assert [each.error_code for each in answer.results] == [0]

    def create_delegation_token(self, user: str, password: str) -> tuple[str, str]:
        """A token of a user: its id, and its secret as a password is written."""
        made = self.logged_in(user, password).request("CreateDelegationToken", renewers=[], max_lifetime_ms=-1)
        assert made.error_code == 0
        return made.token_id, base64.b64encode(made.hmac).decode()

    def expire_delegation_token(self, user: str, password: str, secret: str) -> None:
        """Delete a token of a user at once."""
        request = {"hmac": base64.b64decode(secret), "expiry_time_period_ms": -1}
        assert self.logged_in(user, password).request("ExpireDelegationToken", **request).error_code == 0

    def logged_in(self, user: str, password: str) -> ScriptedClient:
        """A client of ours that is logged in by PLAIN."""
        host, port = self.addresses[SASL_PLAINTEXT].rsplit(":", 1)
        client = self._clients.client(user, address=Address(host, int(port)))
        client.request("SaslHandshake", 1, mechanism="PLAIN")
        answer = client.request("SaslAuthenticate", 2, auth_bytes=f"\0{user}\0{password}".encode())
        assert answer.error_code == 0, answer
        return client

    def close(self) -> None:
        self._clients.close()


@contextmanager
def secured_kafka(
    settings: Mapping[str, str | int], listeners: Mapping[str, str] = ONLY_LOGINS
) -> Iterator[SecuredServer]:
    """A real Kafka with these settings, and listeners besides the one without a login: their protocols by names."""
    with running_kafka(settings, listeners=listeners) as kafka:
        server = SecuredServer({PLAINTEXT: kafka.bootstrap, **kafka.addresses})
        try:
            yield server
        finally:
            server.close()


@contextmanager
def secured_fakebroker(
    settings: Mapping[str, str | int], listeners: Mapping[str, str] = ONLY_LOGINS
) -> Iterator[SecuredServer]:
    """The same of a fakebroker."""
    names = {PLAINTEXT: PLAINTEXT, **listeners}
    listen = [f"protocol={protocol},{name}://127.0.0.1:0" for name, protocol in names.items()]
    with FakeBroker(listen=listen, config=settings) as broker:
        server = SecuredServer({name: broker.bootstrap_of(name) for name in names}, broker)
        try:
            yield server
        finally:
            server.close()


def _binding(user: str, operation: str, permission: int, topic: str, group: str, prefixed: bool) -> dict[str, Any]:
    """An ACL as CreateAcls has it."""
    assert bool(topic) != bool(group)
    return {
        "resource_type": TOPIC if topic else GROUP,
        "resource_name": topic or group,
        "resource_pattern_type": PREFIXED if prefixed else LITERAL,
        "principal": f"User:{user}",
        "host": "*",
        "operation": OPERATIONS[operation],
        "permission_type": permission,
    }


SERVERS = {"fakebroker": secured_fakebroker, "kafka": secured_kafka}
BOTH_SERVERS = [
    pytest.param("fakebroker"),
    pytest.param("kafka", marks=[*needs_real_kafka, pytest.mark.slow, pytest.mark.long]),  # the judge
]


def unsecured_token(user: str, lifetime_s: float = 3600) -> str:
    """A token that nobody signed, which Kafka's default validator takes: who, and until when."""
    now_s = time.time()
    claims = {"sub": user, "iat": now_s, "exp": now_s + lifetime_s}
    return ".".join([*(_base64(json.dumps(part)) for part in ({"alg": "none"}, claims)), ""])


def _base64(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
