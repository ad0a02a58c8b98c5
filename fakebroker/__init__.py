"""A Kafka broker made for tests: real clients, real group coordination, and a clock you can move.

    from fakebroker import FakeBroker, AsyncFakeBroker

Importing this is cheap; what is named here is loaded when it is first used.
"""

TYPE_CHECKING = False  # typing itself costs more than all of this

if TYPE_CHECKING:
    from fakebroker.protocol.errors import BrokerStopped as BrokerStopped
    from fakebroker.protocol.errors import ErrorCode as ErrorCode
    from fakebroker.protocol.errors import ExpectationFailed as ExpectationFailed
    from fakebroker.protocol.errors import InvalidArgument as InvalidArgument
    from fakebroker.protocol.errors import KafkaError as KafkaError
    from fakebroker.protocol.errors import ScenarioFailed as ScenarioFailed
    from fakebroker.protocol.errors import SettingError as SettingError
    from fakebroker.protocol.errors import UnknownThing as UnknownThing
    from fakebroker.protocol.errors import WaitTimeout as WaitTimeout
    from fakebroker.protocol.errors import WireError as WireError
    from fakebroker.scenarios.play import play as play
    from fakebroker.testing.broker import AsyncFakeBroker as AsyncFakeBroker
    from fakebroker.testing.broker import FakeBroker as FakeBroker
    from fakebroker.testing.snapshot.snapshot import Snapshot as Snapshot
    from fakebroker.testing.sweeps.runner import sweep as sweep
    from fakebroker.testing.virtual_broker import VirtualBroker as VirtualBroker

    __version__: str

__all__ = [
    "AsyncFakeBroker",
    "BrokerStopped",
    "ErrorCode",
    "ExpectationFailed",
    "FakeBroker",
    "InvalidArgument",
    "KafkaError",
    "ScenarioFailed",
    "SettingError",
    "Snapshot",
    "UnknownThing",
    "VirtualBroker",
    "WaitTimeout",
    "WireError",
    "play",
    "sweep",
]

_HOMES = {
    "AsyncFakeBroker": "fakebroker.testing.broker",
    "FakeBroker": "fakebroker.testing.broker",
    "VirtualBroker": "fakebroker.testing.virtual_broker",
    "Snapshot": "fakebroker.testing.snapshot.snapshot",
    "play": "fakebroker.scenarios.play",
    "sweep": "fakebroker.testing.sweeps.runner",
}


def __getattr__(name: str) -> object:
    if name == "__version__":  # read when it is asked for: it costs more than the import
        from importlib.metadata import version

        return version("fakebroker")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found: object = getattr(import_module(_HOMES.get(name, "fakebroker.protocol.errors")), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
