"""The quotas of a cluster: whose they are, what may be set, and which one a client has (KIP-546, QU-1 to QU-7).

An entity is a tuple of (type, name) in the order of `ENTITY_TYPES`, of which a name None is the default entity: all of
that type that have no quota of their own.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from math import fmod, isfinite
from typing import NamedTuple

from fakebroker.protocol.errors import ErrorCode, KafkaError

CLIENT_ID, USER, IP = ENTITY_TYPES = "client-id", "user", "ip"

PRODUCER_BYTE_RATE = "producer_byte_rate"
CONSUMER_BYTE_RATE = "consumer_byte_rate"
REQUEST_PERCENTAGE = "request_percentage"
CONTROLLER_MUTATION_RATE = "controller_mutation_rate"
CONNECTION_CREATION_RATE = "connection_creation_rate"

Entity = tuple[tuple[str, str | None], ...]
Kind = tuple[str, ...]
"""The types of an entity."""
_Address = IPv4Address | IPv6Address


class _KeyType(NamedTuple):
    """What values a key takes: up to `largest`, and whole numbers only or any."""

    type_name: str
    largest: float
    is_whole: bool


_LONG = _KeyType("LONG", 2.0**63, True)
_INT = _KeyType("INT", 2.0**31 - 1, True)
_DOUBLE = _KeyType("DOUBLE", float("inf"), False)
_USER_AND_CLIENT_KEYS = {
    CONSUMER_BYTE_RATE: _LONG,
    CONTROLLER_MUTATION_RATE: _DOUBLE,
    PRODUCER_BYTE_RATE: _LONG,
    REQUEST_PERCENTAGE: _DOUBLE,
}
_IP_KEYS = {CONNECTION_CREATION_RATE: _INT}
KEYS = (*_USER_AND_CLIENT_KEYS, *_IP_KEYS)
_ROUNDING = 1e-6  # what a whole number may be off by
_RESOLVED = ("localhost",)  # names of addresses that are known without asking anybody


class Scope(NamedTuple):
    """Who is measured together: the clients of a user with a client id; "" means whatever it is."""

    user: str
    client_id: str


class Applied(NamedTuple):
    """What holds for a client: with whom it is measured, and against which quota; None: without a limit."""

    scope: Scope
    entity: Entity | None
    limit: float | None


def entity_text(entity: Entity) -> str:
    """An entity for people: "user alice, client-id <default>"."""
    named = {kind: "<default>" if name is None else name for kind, name in entity}
    return ", ".join(f"{kind} {named[kind]}" for kind in (USER, CLIENT_ID, IP) if kind in named)


def make_entity(components: Mapping[str, str | None]) -> Entity:
    """The entity with these names by type. Raises KafkaError(INVALID_REQUEST) for one that cannot be (QU-5)."""
    if not components:
        raise _invalid("Invalid empty client quota entity")
    for kind, name in components.items():
        if kind not in ENTITY_TYPES:
            raise _invalid(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise _invalid(f"Empty {kind} not supported")
    if IP in components:
        if len(components) > 1:
            raise _invalid("Invalid quota entity combination: an ip stands alone")
        _check_address(components[IP])
    return tuple((kind, components[kind]) for kind in ENTITY_TYPES if kind in components)


def _check_address(name: str | None) -> None:
    """MOCK: no name is looked up, so that nothing is asked of the network; Kafka takes any that resolves."""
    try:
        if name is not None and name not in _RESOLVED:
            ip_address(name)
    except ValueError:
        raise _invalid(f"{name} is not a valid IP or resolvable host.") from None


def check_value(entity: Entity, key: str, value: float) -> None:
    """Raises KafkaError(INVALID_REQUEST) for a key that the entity cannot have, or a value that the key cannot."""
    keys = _IP_KEYS if entity[0][0] == IP else _USER_AND_CLIENT_KEYS
    if key not in keys:
        raise _invalid(f"Invalid configuration key {key}")
    if not isfinite(value):  # MOCK: Kafka takes what is no number, and then throttles nobody
        raise _invalid(f"Quota {key} must be a number")
    if value <= 0:
        raise _invalid(f"Quota {key} must be greater than 0")
    kind = keys[key]
    if value > kind.largest:
        raise _invalid(f"Proposed value for {key} is too large for a {kind.type_name}.")
    if kind.is_whole and abs(fmod(value, 1)) > _ROUNDING:
        raise _invalid(f"{key} cannot be a fractional value.")


def _invalid(text: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, text)


class ClientQuotas:
    """All quotas. `on_change` is called after every change, with the entity."""

    def __init__(self, on_change: Callable[[Entity], None]) -> None:
        self._on_change = on_change
        self._by_entity: dict[Entity, dict[str, float]] = {}
        self._by_key: dict[str, dict[Entity, float]] = {}  # the same
        self._kinds: dict[str, Counter[Kind]] = {}  # how many entities of each kind have a quota of a key
        self._by_address: dict[_Address, Entity] = {}  # an IPv6 address may be written in several ways

    def __iter__(self) -> Iterator[tuple[Entity, Mapping[str, float]]]:
        return iter(list(self._by_entity.items()))

    def of(self, entity: Entity) -> Mapping[str, float]:
        """The quotas of an entity by their keys."""
        return self._by_entity.get(entity, {})

    def has(self, key: str) -> bool:
        """Whether any entity has a quota of that key."""
        return bool(self._by_key.get(key))

    def alter(self, entity: Entity, changes: Mapping[str, float | None]) -> None:
        """Set quotas of an entity that were checked; None removes one, if it is there (QU-2)."""
        values = self._by_entity.setdefault(entity, {})
        for key, value in changes.items():
            if value is not None:
                self._set(entity, key, value)
            elif key in values:
                self._remove(entity, key)
        if not values:
            del self._by_entity[entity]
        self._on_change(entity)

    def _set(self, entity: Entity, key: str, value: float) -> None:
        of_key = self._by_key.setdefault(key, {})
        if entity not in of_key:
            self._kinds.setdefault(key, Counter())[_kind_of(entity)] += 1
        of_key[entity] = self._by_entity[entity][key] = value
        if address := _address_of(entity):
            self._by_address[address] = entity

    def _remove(self, entity: Entity, key: str) -> None:
        """What has become empty is gone: a client may choose any key."""
        del self._by_entity[entity][key]
        of_key, kinds, kind = self._by_key[key], self._kinds[key], _kind_of(entity)
        del of_key[entity]
        kinds[kind] -= 1
        if not kinds[kind]:
            del kinds[kind]
        if not of_key:
            del self._by_key[key], self._kinds[key]
        if (address := _address_of(entity)) and self._by_address.get(address) == entity:
            del self._by_address[address]

    def of_client(self, key: str, user: str, client_id: str) -> Applied:
        """Which quota of a key holds for a client: of the most specific entity (QU-7).

        Where all quotas of the key are of one kind, as of users, clients are measured by that kind even if they have
        none; where kinds are mixed, those without a quota are measured together, as in Kafka.
        """
        quotas, kinds = self._by_key.get(key, {}), self._kinds.get(key, ())
        for entity in _candidates(user, client_id):
            limit = quotas.get(entity)
            if limit is not None:
                return Applied(_scope(_kind_of(entity), user, client_id), entity, limit)
        only_kind = next(iter(kinds)) if len(kinds) == 1 else ()
        return Applied(_scope(only_kind, user, client_id), None, None)

    def of_address(self, address: str) -> Applied:
        """How many connections an IP address may make per second (QU-1), however the quota writes the address."""
        quotas = self._by_key.get(CONNECTION_CREATION_RATE, {})
        for entity in self._entities_of(address) if quotas else ():
            if entity in quotas:
                return Applied(Scope(address, ""), entity, quotas[entity])
        return Applied(Scope(address, ""), None, None)

    def _entities_of(self, address: str) -> Iterator[Entity]:
        """The entities that an address is of, the most specific first."""
        parsed = _parsed(address)
        if parsed in self._by_address:
            yield self._by_address[parsed]
        yield ((IP, address),)  # in virtual time a client may have any address
        if parsed is not None and parsed.is_loopback:
            yield from (((IP, name),) for name in _RESOLVED)
        yield ((IP, None),)


def _kind_of(entity: Entity) -> Kind:
    return tuple(kind for kind, _ in entity)


def _address_of(entity: Entity) -> _Address | None:
    """The address of an entity; None for one that is none, or the name of one."""
    kind, name = entity[0]
    return _parsed(name) if kind == IP and name is not None else None


def _parsed(address: str) -> _Address | None:
    """An address in whatever form; an IPv4 address within IPv6 is the IPv4 address, as in Java."""
    try:
        found = ip_address(address)
    except ValueError:
        return None
    return (found.ipv4_mapped if isinstance(found, IPv6Address) else None) or found


def _candidates(user: str, client_id: str) -> list[Entity]:
    """The entities that a client is of, the most specific first. One without a client id has no default either."""
    own_user, any_user = (USER, user), (USER, None)
    own_client, any_client = (CLIENT_ID, client_id), (CLIENT_ID, None)
    if not client_id:
        return [(own_user,), (any_user,)]
    return [
        (own_client, own_user),
        (any_client, own_user),
        (own_user,),
        (own_client, any_user),
        (any_client, any_user),
        (any_user,),
        (own_client,),
        (any_client,),
    ]


def _scope(kinds: Sequence[str], user: str, client_id: str) -> Scope:
    return Scope(user if USER in kinds else "", client_id if CLIENT_ID in kinds else "")
