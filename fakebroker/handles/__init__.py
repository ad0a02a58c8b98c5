"""The object model: handles by which a test looks at clock, topics, groups, coordinators, nodes, and changes them.

A handle names a thing that need not exist yet. Each method runs on the engine's thread, whichever thread calls it, and
returns when it is done; only `wait` takes time: it blocks with FakeBroker and is awaited with AsyncFakeBroker. What is
returned is a copy that never changes afterwards.
"""

from fakebroker.handles.clock import ClockHandle
from fakebroker.handles.coordinator import CoordinatorHandle
from fakebroker.handles.group import GroupHandle, MemberView
from fakebroker.handles.node import NodeHandle
from fakebroker.handles.topic import StoredRecord, TopicHandle

__all__ = [
    "ClockHandle",
    "CoordinatorHandle",
    "GroupHandle",
    "MemberView",
    "NodeHandle",
    "StoredRecord",
    "TopicHandle",
]
