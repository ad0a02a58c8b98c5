"""The contract between the engine and whoever drives its connections: `net` with sockets, `sim` in virtual time.

A driver calls, always on the engine's one thread and never while another call into the engine is running:

    engine.connect(...) -> connection   a client connected; the driver then sets `connection.driver`
    connection.receive(data, now)       bytes came in
    connection.resume(now)              the next turn, when `connection.wants_turn`; other clients go first
    connection.data_to_send()           the pieces to write, handed over once
    connection.closed(now, reason)      the connection is closed, whoever closed it; nothing may be called after it
    engine.tick(now)                    time passed: what is due runs (all calls above that have a `now` do this, too)
    engine.next_wakeup_hint()           when to tick next
    engine.step(now)                    one step of long work, as long as there are `engine.works`
    engine.cluster.timers.passes.stopwatch  set once: seconds, by which turns and steps that take long are ended
    engine.flush()                      after any of these: calls `ConnectionDriver.flush` of those in `to_flush`

The engine never calls a driver from inside `receive` or another connection's handler, only from `engine.flush`.

Where faster ways would fit:

- Repeated requests (a client that sends the same API and version again and again): `Connection._turn` asks a dictionary
  what serves a frame. A dictionary of its own would let a connection put something faster there than a route.
"""

from typing import Protocol


class ConnectionDriver(Protocol):
    """What the engine asks of whoever drives a connection."""

    def flush(self) -> None:
        """The connection has something to do. Look, in this order, at

        - `data_to_send()`: write it;
        - `close_reason`: if set, close after everything is written, then call `closed`;
        - `wants_turn`: call `resume` when the other clients have had their turns;
        - `is_to_reset`: if set beside `close_reason`, close with a reset;
        - `waiting_bytes`: stop reading while they are too many;
        - `is_stalled`: stop reading while it is set.
        """


class NoDriver:
    """In the place of a driver before there is one and after the connection is gone."""

    def flush(self) -> None:
        """There is nobody to send to."""


NO_DRIVER = NoDriver()
