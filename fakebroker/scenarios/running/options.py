"""The options of a broker that a scenario is played on, and what contradicts them.

A scenario says how its broker is made. Who makes one for it may say more, but nothing else.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fakebroker.protocol.errors import InvalidArgument
from fakebroker.testing.exchanges.redaction import REDACTED, is_secret_setting
from fakebroker.testing.releases import Settings, release

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.broker.engine.engine import Engine
    from fakebroker.scenarios.script import Scenario
    from fakebroker.testing.handles.broker_control import BrokerControl


def broker_options(
    scenario: "Scenario", given: Mapping[str, Any], named: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The arguments of FakeBroker for a scenario; `given` are those that its user asks for beside it.

    `named` says how an option is called where the user wrote it ("as_release": "--as"). Raises InvalidArgument for one
    that contradicts the scenario.
    """
    wanted: dict[str, Any] = {
        "nodes": scenario.nodes,
        "racks": list(scenario.racks) if scenario.racks else None,
        "seed": scenario.seed,
        "profile": scenario.profile,
        "as_release": scenario.release,
    }
    for option, value in wanted.items():
        if given.get(option) is not None and not _is_same(option, given[option], value):
            raise _contradiction(scenario, option, (named or {}).get(option, option), given[option], value)
    users = {**(given.get("users") or {}), **scenario.users}
    config = {**scenario.config}
    for setting, value in dict(given.get("config") or {}).items():
        if setting in config and Settings({setting: config[setting]}).value(setting) != Settings(
            {setting: value}
        ).value(setting):
            called = f"{(named or {}).get('config', 'config')} {setting}"
            raise _contradiction(scenario, "config", called, _shown(setting, value), _shown(setting, config[setting]))
        config[setting] = value
    more: dict[str, Any] = {"users": users} if users else {}
    if scenario.acls is not None:
        more["acls"] = [*(given.get("acls") or ()), *scenario.acls]
    return {**given, **wanted, "config": config, **more}


def _has_acls(declared: "Sequence[Mapping[str, object]]", cluster: "Cluster") -> bool:
    from fakebroker.testing.acl_option import read_acls

    authorizer = cluster.authorizer
    return authorizer is not None and all(acl in authorizer.acls for acl in read_acls(declared))


def check_engine(scenario: "Scenario", engine: "Engine") -> None:
    """Raises InvalidArgument for a scenario that a running broker contradicts: release, nodes, users, settings."""
    cluster = engine.cluster
    if cluster.release != release(scenario.release):
        raise _running(scenario, "release", scenario.release, cluster.release.name)
    if len(cluster.nodes) < scenario.nodes:
        raise _running(scenario, "nodes", scenario.nodes, len(cluster.nodes))
    missing = [name for name in scenario.users if name not in cluster.credentials.passwords]
    if missing:
        raise _running(scenario, "users", ", ".join(missing), ", ".join(cluster.credentials.users()) or "none")
    if scenario.acls is not None and not _has_acls(scenario.acls, cluster):
        raise _running(scenario, "acls", f"{len(scenario.acls)} ACLs", "not all of them")
    wanted = Settings(scenario.config, profile=scenario.profile)
    for setting in scenario.config:
        if wanted.value(setting) != (there := cluster.settings.value(setting)):
            text = _shown(setting, wanted.value(setting))
            raise _running(scenario, f"config {setting}", text, _shown(setting, there))


def create_topics(scenario: "Scenario", broker: "BrokerControl") -> None:
    """Create the topics that are not there yet. Raises InvalidArgument for one that is there with other partitions."""
    there = {topic.name: topic.partitions for topic in broker.topics}
    for name, arguments in scenario.topics.items():
        partitions = arguments.get("partitions", 1)
        if name not in there:
            broker.create_topic(name, **arguments)
        elif there[name] != partitions:
            raise _running(scenario, f"topic {name}", f"{partitions} partitions", f"{there[name]}")


def _is_same(option: str, given: Any, wanted: Any) -> bool:
    if option == "as_release":
        return release(given) == release(wanted)
    if option == "racks":
        return bool(list(given) == wanted)
    return bool(given == wanted)


def _shown(setting: str, value: Any) -> Any:
    """The value of a setting as an error has it: who plays a scenario need not know those of the broker."""
    return REDACTED if is_secret_setting(setting) else value


def _contradiction(scenario: "Scenario", field: str, called: str, given: Any, wanted: Any) -> InvalidArgument:
    text = (
        f"{called} is {given}, but the scenario has {wanted} ({scenario.path}); leave the option out, or "
        f"change the scenario"
    )
    return InvalidArgument(field, given, text)


def _running(scenario: "Scenario", what: str, wanted: Any, there: Any) -> InvalidArgument:
    text = f"scenario {scenario.name} needs {what} {wanted}; this broker has {there}"
    return InvalidArgument("scenario", scenario.name, text)
