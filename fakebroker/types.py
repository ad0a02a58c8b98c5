"""The types of what brokers give, for annotations in tests and helpers.

    from fakebroker.types import GroupHandle, TopicHandle

None of them is made by a test: brokers and handles give them.
"""

from fakebroker.engine.faults.fault import IncomingRequest
from fakebroker.engine.journal import Exchange, Recorded
from fakebroker.handles.acls import AclEntry, AclExplanation, AclsHandle
from fakebroker.handles.clock import ClockHandle
from fakebroker.handles.coordinator import CoordinatorHandle, TransactionCoordinatorHandle
from fakebroker.handles.delegation_token import DelegationTokenHandle
from fakebroker.handles.expectation import Expectation
from fakebroker.handles.fault import FaultHandle
from fakebroker.handles.group import GroupHandle
from fakebroker.handles.hold import HoldHandle
from fakebroker.handles.journal import JournalHandle
from fakebroker.handles.literals import (
    ApiName,
    FaultAction,
    FaultMoment,
    GroupKind,
    GroupState,
    Profile,
    ReleaseName,
    TransactionState,
)
from fakebroker.handles.member_view import MemberView, TasksView
from fakebroker.handles.node import NetworkFault, NodeHandle
from fakebroker.handles.partition import PartitionHandle
from fakebroker.handles.quotas import QuotaEntry, QuotaInForce, QuotasHandle
from fakebroker.handles.telemetry import MetricValue, PushView, TelemetryHandle
from fakebroker.handles.topic import StoredRecord, TopicHandle
from fakebroker.handles.transaction import TransactionHandle
from fakebroker.handles.users import UsersHandle
from fakebroker.sweeps.report import CaseResult, SweepReport
from fakebroker.testclient.scripted_client import PendingStep, ScriptedClient

__all__ = [
    "AclEntry",
    "AclExplanation",
    "AclsHandle",
    "ApiName",
    "CaseResult",
    "ClockHandle",
    "CoordinatorHandle",
    "DelegationTokenHandle",
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
