"""What is secret in a scenario file: passwords, tokens, values of some settings. Transcripts show none of it."""

from collections.abc import Iterator, Mapping

from fakebroker.protocol.schema.entities import field_of, has_secrets, inner_of
from fakebroker.protocol.schema.message import Declaration
from fakebroker.protocol.wire.registry import api
from fakebroker.scenarios.language.yaml_file import Items, Node, Scalar, Table
from fakebroker.testing.exchanges.redaction import REDACTED, is_secret_setting

SECRET_KEYS = frozenset({"password", "token"})  # of steps that log in, and of actors


class Hiding:
    """Replaces what is secret, and notes in `parameters` which of these it came from."""

    def __init__(self) -> None:
        self.parameters: set[str] = set()

    def of_file(self, entries: Mapping[str, Node]) -> None:
        """Note the parameters of a file outside of its timeline."""
        for user in _entries(entries.get("users")).values():
            self.hide(user)
        for actor in _entries(entries.get("actors")).values():
            self.keys(_entries(actor))
        for parts in (entries, *map(_entries, _entries(entries.get("topics")).values())):
            self.keys({key: node for key, node in parts.items() if key == "config"})

    def of_step(self, value: Node, rest: Mapping[str, Node]) -> dict[str, Node]:
        """The keys of a step beside its word, whose value is given."""
        declaration = _request_of(value, rest)
        if declaration is None or not has_secrets(declaration):
            return self.keys(rest)
        return self.keys(self._fields(declaration, rest) | {key: self.hide(rest[key]) for key in rest if key == "hex"})

    def keys(self, entries: Mapping[str, Node]) -> dict[str, Node]:
        """Keys that are of no request."""
        hidden = {key: self.hide(node) if key in SECRET_KEYS else node for key, node in entries.items()}
        config = hidden.get("config")
        if isinstance(config, Table):
            settings = config.entries.items()
            shown = {name: self.hide(node) if is_secret_setting(name) else node for name, node in settings}
            hidden["config"] = Table(config.place, shown, config.keys)
        return hidden

    def hide(self, node: Node) -> Node:
        """What is shown of something secret."""
        self.parameters.update(_parameters_in(node))
        return Scalar(node.place, REDACTED, REDACTED)

    def _fields(self, declaration: type[Declaration], entries: Mapping[str, Node]) -> dict[str, Node]:
        """The fields of a structure."""
        specs = {spec.name: spec for spec in declaration.fields}
        hidden, secret = dict(entries), {spec.name for spec in declaration.fields if spec.entity == "secret"}
        name, value = field_of(declaration, "configName"), field_of(declaration, "configValue")
        if name is not None and value is not None:
            setting = entries.get(name.name)
            if not isinstance(setting, Scalar) or is_secret_setting(str(setting.value)):
                secret.add(value.name)
        for key, node in entries.items():
            inner = inner_of(specs[key]) if key in specs else None
            if key in secret:
                hidden[key] = self.hide(node)
            elif inner is not None and has_secrets(inner):
                hidden[key] = self._entry(inner, node)
        return hidden

    def _entry(self, declaration: type[Declaration], node: Node) -> Node:
        """A structure, or a list of some; of anything else nobody knows what it is."""
        if isinstance(node, Items):
            return Items(node.place, tuple(self._entry(declaration, each) for each in node.items))
        if isinstance(node, Table):
            return Table(node.place, self._fields(declaration, node.entries), node.keys)
        return self.hide(node)


def _request_of(value: Node, rest: Mapping[str, Node]) -> type[Declaration] | None:
    """The message of a step that is a request of an API: "request SaslAuthenticate", or "request" beside `api_name`."""
    verb, *names = value.value.split() if isinstance(value, Scalar) and isinstance(value.value, str) else [""]
    if verb != "request":
        return None
    try:
        return api(names[0] if names else str(getattr(rest.get("api_name"), "value", ""))).request
    except KeyError:
        return None


def _entries(node: Node | None) -> Mapping[str, Node]:
    return node.entries if isinstance(node, Table) else {}


def _parameters_in(node: Node) -> Iterator[str]:
    if isinstance(node, Scalar):
        yield from node.parameters
    inner = node.items if isinstance(node, Items) else _entries(node).values()
    for each in inner:
        yield from _parameters_in(each)
