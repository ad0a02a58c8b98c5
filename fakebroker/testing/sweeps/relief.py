"""A run of a sweep that is given up: what is done so that the test ends.

The broker goes on. Without one librdkafka's synchronous calls wait for ever, in C, where no exception reaches them;
with one that answers they return, and the test comes to its end.
"""

from contextlib import suppress
from ctypes import c_ulong, py_object, pythonapi
from threading import get_ident
from typing import TYPE_CHECKING

from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.protocol.errors import KafkaError

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.protocol.instant import Instant
    from fakebroker.testing.handles.broker_control import BrokerControl


class RunTooLong(BaseException):
    """A run of a sweep was given up: it took much longer than the test without a fault."""

    def __str__(self) -> str:  # raised as a class, without arguments
        return "the test was still running long after it would have ended without the fault"


class _Caught(BaseException):
    """Raised to be caught."""


def relieve(broker: "BrokerControl") -> None:
    """Remove every fault and every hold, and end the sessions of all members: what their clients wait for is answered.

    May be called on any thread, as often as one likes.
    """
    broker.clear_faults()
    broker._call(lambda: _let_go(broker))


def disconnect_clients(broker: "BrokerControl") -> None:
    """Close all connections: clients that wait for an answer which was dropped connect again, and ask again."""
    broker._call(broker._server.drop_clients)


def raise_in(thread_id: int, error: type[BaseException]) -> None:
    """Have another thread raise an exception when it runs Python code: at once, or when the interpreter looks again.

    CPython 3.11 begins no call in any thread while an exception waits for one, if a profiler or coverage is on. So one
    is raised here, too, before anything else is called: that ends the looking of all threads.
    """
    _raise_here(c_ulong(thread_id), py_object(error))


def forget_raised() -> None:
    """Forget what another thread has had this one raise, if it has yet to come."""
    _raise_here(c_ulong(get_ident()), py_object(_Caught))


def _raise_here(thread_id: c_ulong, error: "py_object[type[BaseException]]") -> None:
    """Set an exception for a thread, and one for this thread, which is caught; without a call of Python in between."""
    set_error, own, caught = pythonapi.PyThreadState_SetAsyncExc, c_ulong(get_ident()), py_object(_Caught)
    try:
        set_error(thread_id, error)
        set_error(own, caught)
        while True:  # it comes when the interpreter looks next
            pass
    except _Caught:
        pass


def _let_go(broker: "BrokerControl") -> None:
    cluster, now = broker._engine.cluster, broker._engine.now
    _end_holds(cluster, now)
    _end_sessions(cluster, now)
    broker._engine.drain()


def _end_holds(cluster: "Cluster", now: "Instant") -> None:
    for group in cluster.groups(now):
        for phase, hold in list(cluster.holds.get(group.group_id, {}).items()):
            if isinstance(group, ClassicGroup) and not hold.is_released:
                group.release_hold(hold._replace(order=(), leader=None, is_released=True), phase, now)
    cluster.holds.clear()


def _end_sessions(cluster: "Cluster", now: "Instant") -> None:
    for group in cluster.groups(now):
        for member_id in list(group.member_ids()):
            with suppress(KeyError, KafkaError):  # gone with another, or not to be stored
                group.evict(member_id, now)
