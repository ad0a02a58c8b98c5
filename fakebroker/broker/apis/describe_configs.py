"""DescribeConfigs, key 32, v0-v4: the configs of topics, brokers, loggers, client metrics and groups (KIP-133, DC).

v0 is_default; v1 source and synonyms in its place (KIP-226); v2 no change; v3 type and documentation (KIP-569);
v4 flexible.
Kafka 4 serves v1 on. The documentation is this project's own.
"""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.apis.written_entries import WrittenEntries
from fakebroker.broker.core.config_resources import (
    BROKER_RESOURCE,
    RESOURCE_TYPES,
    TOPIC_RESOURCE,
    ConfigEntry,
    plain_name,
    resource,
)
from fakebroker.broker.settings import Source
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.schema.message import with_fields
from fakebroker.protocol.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

if TYPE_CHECKING:
    from fakebroker.broker.core.node import Node

CONFIGS_PER_STEP = 1_000
_CHARACTERS_OF_CONFIG = 256  # so many take as long to write as a config
RESULTS_PER_STEP = 5_000  # of resources that are refused
_FIRST_TYPES = (TOPIC_RESOURCE, BROKER_RESOURCE)


def handle(call: Call, request: DescribeConfigsRequest) -> DescribeConfigsResponse | None:
    """Each resource on its own, unless one has a type that does not exist: then all get INVALID_REQUEST (DC-5)."""
    known = RESOURCE_TYPES if call.cluster.behaviours.has_logger_resources else _FIRST_TYPES
    for entry in request.resources:
        if entry.resource_type not in known:
            error = KafkaError(ErrorCode.INVALID_REQUEST, f"unknown resource type {entry.resource_type}")
            return call.work(_refused_in_steps(call, request, error))
    return call.work(_in_steps(call, request))


def _refused_in_steps(call: Call, request: DescribeConfigsRequest, error: KafkaError) -> Steps[DescribeConfigsResponse]:
    """All of it, for one resource of an unknown type."""
    response, pace = DescribeConfigsResponse(), call.pace(RESULTS_PER_STEP)
    for entry in request.resources:
        result = _error_result(entry, error)
        if not call.cluster.behaviours.has_logger_resources and result.resource_type not in _FIRST_TYPES:
            result.resource_type = 0
        response.results.append(result)
        if pace.is_over():
            yield
    return response


def _in_steps(call: Call, request: DescribeConfigsRequest) -> Steps[DescribeConfigsResponse]:
    """A resource is described in one step; configs that are not asked for cost as much as those that are.

    A resource that is asked for again has the same result: 3,000 of their own took 69 MB, and 1 MB names 200,000.
    """
    response, answer, pace = DescribeConfigsResponse(), _Answer(call, request), call.pace(CONFIGS_PER_STEP)
    written = WrittenEntries(call)
    known: dict[tuple[int, str, tuple[str, ...] | None], DescribeConfigsResult] = {}
    empty_means_all = call.cluster.behaviours.no_config_keys_mean_all
    for entry in _resources(call, request):
        described, keys = list[ConfigEntry](), _keys(entry, empty_means_all=empty_means_all)
        name = plain_name(call.node, entry.resource_type, entry.resource_name)
        result = known.get((entry.resource_type, name, keys))
        if result is None:
            try:
                described = answer.described(entry.resource_type, name)
                result = answer.result(entry, described, keys)
            except KafkaError as error:
                result = _error_result(entry, error)
            known[entry.resource_type, name, keys] = result
        elif written.is_over(result):
            yield
        response.results.append(_under_name(result, entry.resource_name))
        if pace.is_over(1 + len(described) + len(keys or ()) + _characters(described) // _CHARACTERS_OF_CONFIG):
            yield
    return response


def _described(node: "Node", resource_type: int, name: str) -> list[ConfigEntry]:
    """All configs of a resource. Raises KafkaError."""
    found = resource(node, resource_type, name)
    found.check_name()
    return found.describe()


def _under_name(result: DescribeConfigsResult, name: str) -> DescribeConfigsResult:
    """The same result for another spelling of a broker's id."""
    return result if result.resource_name == name else with_fields(result, resource_name=name)


def _characters(configs: Sequence[ConfigEntry]) -> int:
    """Those of the values, which results of the same resource with other keys share."""
    return sum(len(each.value or "") for each in configs)


def _resources(call: Call, request: DescribeConfigsRequest) -> Sequence[DescribeConfigsResource]:
    """Those of the request; in 2.1.1 the last of several that are the same (DC-1)."""
    if call.cluster.behaviours.described_configs_may_repeat:
        return request.resources
    return list({(entry.resource_type, entry.resource_name): entry for entry in request.resources}.values())


def _keys(entry: DescribeConfigsResource, *, empty_means_all: bool) -> tuple[str, ...] | None:
    """The names of the configs that are asked for; None for all (DC-1)."""
    keys = entry.configuration_keys
    return None if keys is None or (empty_means_all and not keys) else tuple(keys)


class _Answer:
    """The configs in one answer. Those that are the same are one object, which nobody changes: 100,000 groups have some
    20 each.
    """

    def __init__(self, call: Call, request: DescribeConfigsRequest) -> None:
        self._node = call.node
        self._with_documentation = request.include_documentation
        self._with_synonyms = request.include_synonyms
        self._with_default = call.version == 0
        self._shows_defaults = call.cluster.behaviours.describe_configs_v0_shows_defaults
        self._made: dict[Hashable, DescribeConfigsResourceResult] = {}
        self._brokers: dict[str, list[ConfigEntry]] = {}

    def described(self, resource_type: int, name: str) -> list[ConfigEntry]:
        """All configs of a resource; those of a broker, which take the longest, are read once for all its entries."""
        if resource_type != BROKER_RESOURCE:
            return _described(self._node, resource_type, name)
        if name not in self._brokers:
            self._brokers[name] = _described(self._node, resource_type, name)
        return self._brokers[name]

    def result(
        self, entry: DescribeConfigsResource, described: Sequence[ConfigEntry], keys: Sequence[str] | None
    ) -> DescribeConfigsResult:
        """The configs of one resource that are asked for; None: all."""
        wanted = None if keys is None else frozenset(keys)
        chosen = [each for each in described if wanted is None or each.setting.name in wanted]
        return DescribeConfigsResult(
            resource_type=entry.resource_type,
            resource_name=entry.resource_name,
            configs=[self._config(entry.resource_type, each) for each in chosen],
        )

    def _config(self, resource_type: int, each: ConfigEntry) -> DescribeConfigsResourceResult:
        flags = each.is_read_only, each.is_sensitive
        key = (resource_type, each.setting.name, each.value, each.source, *flags, *each.synonyms)
        if key not in self._made:
            self._made[key] = self._new(each)
        return self._made[key]

    def _new(self, each: ConfigEntry) -> DescribeConfigsResourceResult:
        result = DescribeConfigsResourceResult(
            name=each.setting.name,
            value=each.value,
            read_only=each.is_read_only,
            config_source=each.source,
            is_sensitive=each.is_sensitive,
            config_type=each.setting.type,
            documentation=each.setting.description if self._with_documentation else None,
        )
        if self._with_default:
            result.is_default = self._shows_defaults and each.source == Source.DEFAULT
        if self._with_synonyms:
            result.synonyms = [
                DescribeConfigsSynonym(name=synonym.name, value=synonym.value, source=synonym.source)
                for synonym in each.synonyms
            ]
        return result


def _error_result(entry: DescribeConfigsResource, error: KafkaError) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=error.code,
        error_message=error.message or "",
        resource_type=entry.resource_type,
        resource_name=entry.resource_name,
    )
