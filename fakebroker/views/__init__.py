"""The object model: topics, groups, coordinators and the clock as a test sees them.

The same for every way in (`Door`): each look and each change runs on the engine's thread, waits are the door's. All
values handed out are copies; nothing here changes behind the caller's back.
"""

from fakebroker.views.clock import ClockView
from fakebroker.views.coordinator import CoordinatorView
from fakebroker.views.group import GroupView, MemberView
from fakebroker.views.topic import StoredRecord, TopicView

__all__ = ["ClockView", "CoordinatorView", "GroupView", "MemberView", "StoredRecord", "TopicView"]
