"""The quotas of a broker as a test sees them: whom it throttles, changed while it runs."""

from collections.abc import Mapping
from typing import Annotated, NamedTuple

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.quotas.client_quotas import (
    CLIENT_ID,
    CONNECTION_CREATION_RATE,
    IP,
    KEYS,
    USER,
    Entity,
    check_value,
    make_entity,
)
from fakebroker.protocol.arguments.kinds import Choice
from fakebroker.protocol.errors import InvalidArgument, UnknownThing
from fakebroker.protocol.instant import Instant
from fakebroker.testing.handles.handle import Handle

DEFAULT = "<default>"


class QuotaEntry(NamedTuple):
    """The quotas of one entity, by key.

    A name is None if the entity does not have that type, "<default>" for the default entity.
    """

    user: str | None
    client_id: str | None
    ip: str | None
    values: dict[str, float]


class QuotaInForce(NamedTuple):
    """The quota of a key that applies to a client, and its entity."""

    key: str
    limit: float
    user: str | None
    client_id: str | None
    ip: str | None


class QuotasHandle(Handle):
    """The quotas that were set, by the test or by clients (AlterClientQuotas).

    A quota belongs to a user, a client id, both together, or an address; the name `<default>` is the default entity.
    The most specific quota of a client applies (QU-7).
    """

    def __repr__(self) -> str:
        return f"<quotas of {len(self.entries)} entities>"

    @property
    def entries(self) -> list[QuotaEntry]:
        """All quotas, by entity."""

        def entries(cluster: Cluster, _now: Instant) -> list[QuotaEntry]:
            return [QuotaEntry(*_names(entity), dict(values)) for entity, values in cluster.client_quotas]

        return self._with_cluster(entries)

    def set(
        self,
        *,
        user: str | None = None,
        client_id: str | None = None,
        ip: str | None = None,
        producer_byte_rate: float | None = None,
        consumer_byte_rate: float | None = None,
        request_percentage: float | None = None,
        controller_mutation_rate: float | None = None,
        connection_creation_rate: float | None = None,
    ) -> None:
        """Set quotas of an entity, with immediate effect; other quotas of the entity stay.

        Rates are per second: bytes produced or fetched, partitions made or deleted, connections of an address.
        `request_percentage` is of one thread's time. Raises KafkaError for what Kafka refuses, InvalidArgument without
        any quota.
        """
        entity = _entity(user, client_id, ip)
        values = {
            "producer_byte_rate": producer_byte_rate,
            "consumer_byte_rate": consumer_byte_rate,
            "request_percentage": request_percentage,
            "controller_mutation_rate": controller_mutation_rate,
            CONNECTION_CREATION_RATE: connection_creation_rate,
        }
        given: dict[str, float] = {}
        for key, value in values.items():
            if value is not None:
                check_value(entity, key, value)
                given[key] = float(value)
        if not given:
            raise InvalidArgument("producer_byte_rate", None, f"set at least one of {', '.join(KEYS)}")
        self._alter(entity, given)

    def remove(
        self,
        *,
        user: str | None = None,
        client_id: str | None = None,
        ip: str | None = None,
        key: Annotated[str, Choice(KEYS)] | None = None,
    ) -> None:
        """Remove the quotas of an entity, or that of one `key`. Raises UnknownThing if there is none."""
        entity = _entity(user, client_id, ip)
        values = self._with_cluster(lambda cluster, _now: dict(cluster.client_quotas).get(entity, {}))
        keys = [each for each in values if key in (None, each)]
        if not keys:
            name = ", ".join(f"{kind} {text}" for kind, text in entity)
            raise UnknownThing("key", key, f"there is no quota {key or ''} of {name}".replace("  ", " "))
        self._alter(entity, dict.fromkeys(keys))

    def clear(self) -> None:
        """Remove all quotas."""
        for entry in self.entries:
            self.remove(user=entry.user, client_id=entry.client_id, ip=entry.ip)

    def of_client(self, user: str = "ANONYMOUS", client_id: str = "", ip: str = "127.0.0.1") -> list[QuotaInForce]:
        """The quotas that apply to a client with that user, client id and address; a client without a login is the user
        ANONYMOUS.
        """

        def in_force(cluster: Cluster, _now: Instant) -> list[QuotaInForce]:
            quotas, found = cluster.client_quotas, []
            for key in KEYS:
                of_address = key == CONNECTION_CREATION_RATE
                applied = quotas.of_address(ip) if of_address else quotas.of_client(key, user, client_id)
                if applied.limit is not None and applied.entity is not None:
                    found.append(QuotaInForce(key, applied.limit, *_names(applied.entity)))
            return found

        return self._with_cluster(in_force)

    def _alter(self, entity: Entity, changes: Mapping[str, float | None]) -> None:
        self._with_cluster(lambda cluster, _now: cluster.client_quotas.alter(entity, changes))


def _entity(user: str | None, client_id: str | None, ip: str | None) -> Entity:
    """The entity of these names. Raises KafkaError for an impossible one, InvalidArgument without any."""
    names: dict[str, str | None] = {}
    for kind, name in ((USER, user), (CLIENT_ID, client_id), (IP, ip)):
        if name is not None:
            names[kind] = None if name == DEFAULT else name
    if not names:
        raise InvalidArgument(
            "user", None, f"set at least one of user, client_id, ip (use {DEFAULT!r} for the default entity)"
        )
    return make_entity(names)


def _names(entity: Entity) -> tuple[str | None, str | None, str | None]:
    """User, client id and address as they are shown."""
    shown = {kind: DEFAULT if name is None else name for kind, name in entity}
    return shown.get(USER), shown.get(CLIENT_ID), shown.get(IP)
