"""The values of texts that the type hints leave open, for the OpenAPI document, from the declarations of the broker.

A field whose type hint is a Literal or an Enum names its values itself, and needs no row here.
"""

from functools import cache

from fakebroker.broker.core.groups.kinds import GroupKind
from fakebroker.broker.core.transactions.states import TransactionState
from fakebroker.protocol.wire.registry import APIS
from fakebroker.testing.handles.group_wait import STATE_NAMES
from fakebroker.testing.releases import RELEASES

_GROUP_STATES = tuple(map(str, STATE_NAMES))
_TRANSACTION_STATES = tuple(state.kafka_name for state in TransactionState)
_KINDS = tuple(kind.value for kind in GroupKind)


@cache
def _rows() -> dict[str, tuple[str, ...]]:
    apis = tuple(sorted(api.name for api in APIS.values()))
    return {
        "About.release": RELEASES,
        "GroupExplanation.state": _GROUP_STATES,
        "GroupHandle.kind": _KINDS,
        "GroupHandle.state": _GROUP_STATES,
        "GroupRow.kind": _KINDS,
        "GroupRow.state": _GROUP_STATES,
        "GroupView.kind": _KINDS,
        "GroupView.state": _GROUP_STATES,
        "TransactionExplanation.state": _TRANSACTION_STATES,
        "TransactionHandle.state": _TRANSACTION_STATES,
        "WaitingRequest.api": apis,
    }


def release_names() -> tuple[str, ...]:
    """The names of the releases, in full and short, the newest first."""
    newest_first = tuple(reversed(RELEASES))
    return (*(name.rpartition(".")[0] for name in newest_first), *newest_first)


def declared_values(schema: str) -> dict[str, tuple[str, ...]]:
    """The values of the fields of a schema of the document: {"action": ("disconnect", ...)}."""
    return {row.partition(".")[2]: values for row, values in _rows().items() if row.partition(".")[0] == schema}


def rows() -> tuple[str, ...]:
    """The fields that have a row."""
    return tuple(_rows())
