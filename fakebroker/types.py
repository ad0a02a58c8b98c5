"""The types of what brokers give, for annotations in tests and helpers.

    from fakebroker.types import GroupHandle, TopicHandle

None of them is made by a test: brokers and handles give them.
"""

from fakebroker.broker.engine.faults.incoming import IncomingRequest
from fakebroker.broker.engine.journal import Exchange, Recorded
from fakebroker.client.scripted.scripted_client import PendingStep, ScriptedClient
from fakebroker.testing.handles.acls import AclEntry, AclExplanation, AclsHandle
from fakebroker.testing.handles.clock import ClockHandle
from fakebroker.testing.handles.coordinator import CoordinatorHandle, TransactionCoordinatorHandle
from fakebroker.testing.handles.delegation_token import DelegationTokenHandle
from fakebroker.testing.handles.disks import DiskFault, LogDirectoryView
from fakebroker.testing.handles.expectation import Expectation
from fakebroker.testing.handles.fault import FaultHandle
from fakebroker.testing.handles.group import GroupHandle
from fakebroker.testing.handles.hold import HoldHandle
from fakebroker.testing.handles.journal import JournalHandle
from fakebroker.testing.handles.member_view import MemberView, TasksView
from fakebroker.testing.handles.node import NetworkFault, NodeHandle
from fakebroker.testing.handles.partition import PartitionHandle
from fakebroker.testing.handles.quotas import QuotaEntry, QuotaInForce, QuotasHandle
from fakebroker.testing.handles.telemetry import MetricValue, PushView, TelemetryHandle
from fakebroker.testing.handles.topic import StoredRecord, TopicHandle
from fakebroker.testing.handles.transaction import TransactionHandle
from fakebroker.testing.handles.users import UsersHandle
from fakebroker.testing.literals import (
    ApiName,
    FaultAction,
    FaultMoment,
    GroupKind,
    GroupState,
    Profile,
    ReleaseName,
    TransactionState,
)
from fakebroker.testing.sweeps.report import CaseResult, SweepReport

__all__ = [
    "AclEntry",
    "AclExplanation",
    "AclsHandle",
    "ApiName",
    "CaseResult",
    "ClockHandle",
    "CoordinatorHandle",
    "DelegationTokenHandle",
    "DiskFault",
    "Exchange",
    "Expectation",
    "FaultAction",
    "FaultHandle",
    "FaultMoment",
    "GroupHandle",
    "GroupKind",
    "GroupState",
    "HoldHandle",
    "IncomingRequest",
    "JournalHandle",
    "LogDirectoryView",
    "MemberView",
    "MetricValue",
    "NetworkFault",
    "NodeHandle",
    "PartitionHandle",
    "PendingStep",
    "Profile",
    "PushView",
    "QuotaEntry",
    "QuotaInForce",
    "QuotasHandle",
    "Recorded",
    "ReleaseName",
    "ScriptedClient",
    "StoredRecord",
    "SweepReport",
    "TasksView",
    "TelemetryHandle",
    "TopicHandle",
    "TransactionCoordinatorHandle",
    "TransactionHandle",
    "TransactionState",
    "UsersHandle",
]
