"""Secrets in the files of snapshots, so that nobody who looks at one reads a password by chance.

A broker that is restored needs its secret settings and the HMACs of its delegation tokens: they are in the file, with
every bit inverted. That hides them from eyes and from searches for text; it is no encryption.
"""

from collections.abc import Callable, Mapping

from fakebroker.testing.exchanges.redaction import is_secret_setting
from fakebroker.testing.snapshot.state import BrokerState

_HIDDEN = "\0hidden "  # before the hexadecimal digits of a hidden text; no other text begins with it
_Change = Callable[[Mapping[str, str]], dict[str, str]]


def with_hidden_secrets(state: BrokerState) -> BrokerState:
    """The state as it is written to a file."""
    return _changed(state, lambda settings: {name: _hidden(name, text) for name, text in settings.items()})


def with_shown_secrets(state: BrokerState) -> BrokerState:
    """The state that a file has. Raises ValueError for what hides no text."""
    return _changed(state, lambda settings: {name: _shown(text) for name, text in settings.items()})


def _changed(state: BrokerState, change: _Change) -> BrokerState:
    """The state with all its broker settings changed, and the HMACs of its tokens inverted."""
    cluster = state.cluster
    credentials = cluster.credentials
    tokens = tuple(token._replace(hmac=_inverted(token.hmac)) for token in credentials.tokens)
    nodes = tuple(node._replace(own=change(node.own), dynamic=change(node.dynamic)) for node in cluster.nodes)
    cluster = cluster._replace(
        nodes=nodes, dynamic=change(cluster.dynamic), credentials=credentials._replace(tokens=tokens)
    )
    return state._replace(options=state.options._replace(config=change(state.options.config)), cluster=cluster)


def _hidden(name: str, text: str) -> str:
    return _HIDDEN + _inverted(text.encode()).hex() if is_secret_setting(name) else text


def _shown(text: str) -> str:
    return _inverted(bytes.fromhex(text.removeprefix(_HIDDEN))).decode() if text.startswith(_HIDDEN) else text


def _inverted(data: bytes) -> bytes:
    return bytes(byte ^ 0xFF for byte in data)
