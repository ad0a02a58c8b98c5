"""docs/reference/python-api.md: what tests can call, from the source's signatures and docstrings."""

import ast
from collections.abc import Iterator
from functools import cache
from inspect import cleandoc
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parents[1] / "fakebroker"
Definition = ast.FunctionDef | ast.AsyncFunctionDef


class Part(NamedTuple):
    """A class on the page: where it is, how a test gets one."""

    module: str
    name: str
    got_by: str
    bases: tuple[
        str, ...
    ] = ()  # classes whose methods it has as well: of the same module, MODULE:CLASS, MODULE:CLASS.METHOD


PARTS = (
    Part(
        "testing/broker.py",
        "FakeBroker",
        "`with FakeBroker() as broker:`, or the pytest fixture `fakebroker`",
        ("_Broker", "testing/broker_base.py:BrokerBase"),
    ),
    Part(
        "testing/handles/broker_control.py",
        "BrokerControl",
        "what all brokers have: `broker.clock`, `broker.topic(...)` and so on",
    ),
    Part(
        "testing/broker.py",
        "AsyncFakeBroker",
        "`async with AsyncFakeBroker() as broker:`; the rest is that of FakeBroker",
    ),
    Part(
        "testing/virtual_broker.py",
        "VirtualBroker",
        "`with VirtualBroker() as broker:`; the rest is that of FakeBroker",
    ),
    Part("testing/handles/clock.py", "ClockHandle", "`broker.clock`"),
    Part("testing/handles/topic.py", "TopicHandle", "`broker.topic(name)`, `broker.create_topic(name, ...)`"),
    Part("testing/handles/topic.py", "StoredRecord", "`broker.topic(name).records()`"),
    Part("testing/handles/group.py", "GroupHandle", "`broker.group(group_id)`"),
    Part("testing/handles/member_view.py", "MemberView", "`broker.group(group_id).members`"),
    Part("testing/handles/member_view.py", "TasksView", "`broker.group(group_id).members[0].tasks`"),
    Part(
        "testing/handles/hold.py",
        "HoldHandle",
        "`broker.group(group_id).hold_joins(...)`, `.hold_syncs(...)`, `.holds`",
    ),
    Part(
        "testing/handles/coordinator.py",
        "CoordinatorHandle",
        "`broker.coordinator(group_id)`",
        ("PartitionLeaderHandle",),
    ),
    Part(
        "testing/handles/transaction.py",
        "TransactionHandle",
        "`broker.transaction(transactional_id)`, `broker.transactions`",
    ),
    Part(
        "testing/handles/coordinator.py",
        "TransactionCoordinatorHandle",
        "`broker.transaction_coordinator(transactional_id)`; the rest is that of CoordinatorHandle",
    ),
    Part("testing/handles/users.py", "UsersHandle", "`broker.users`"),
    Part(
        "testing/handles/delegation_token.py",
        "DelegationTokenHandle",
        "`broker.users.create_token(owner)`, `broker.users.tokens`",
    ),
    Part("testing/handles/acls.py", "AclsHandle", "`broker.acls`"),
    Part("testing/handles/acls.py", "AclEntry", "`broker.acls.entries`"),
    Part("testing/handles/acls.py", "AclExplanation", "`broker.acls.explain(...)`"),
    Part("testing/handles/quotas.py", "QuotasHandle", "`broker.quotas`"),
    Part("testing/handles/quotas.py", "QuotaEntry", "`broker.quotas.entries`"),
    Part("testing/handles/quotas.py", "QuotaInForce", "`broker.quotas.of_client(...)`"),
    Part("testing/handles/telemetry.py", "TelemetryHandle", "`broker.telemetry`"),
    Part("testing/handles/telemetry.py", "PushView", "`broker.telemetry.pushes()`"),
    Part("testing/handles/telemetry.py", "MetricValue", "`broker.telemetry.metrics()`, `.pushes()[0].metrics`"),
    Part("testing/tokens/authority.py", "TokenAuthority", "`from fakebroker.oauth import TokenAuthority`"),
    Part("testing/handles/node.py", "NodeHandle", "`broker.node(node_id)`, `broker.nodes`, `broker.add_node(...)`"),
    Part("testing/handles/node.py", "NetworkFault", "`broker.node(node_id).unreachable()` and the like"),
    Part("testing/handles/disks.py", "DiskFault", "`broker.node(node_id).fill_disk()` and the like"),
    Part("testing/handles/disks.py", "LogDirectoryView", "`broker.node(node_id).log_directories`"),
    Part("testing/handles/partition.py", "PartitionHandle", "`broker.topic(name).partition(index)`"),
    Part("testing/snapshot/snapshot.py", "Snapshot", "`broker.snapshot()`, `Snapshot.load(path)`"),
    Part("testing/handles/fault.py", "FaultHandle", "`broker.fault(...)`, `broker.faults`"),
    Part(
        "broker/engine/faults/incoming.py", "IncomingRequest", "the functions `when` and `run` of `broker.fault(...)`"
    ),
    Part("client/scripted/scripted_client.py", "ScriptedClient", '`broker.client("a")`'),
    Part(
        "client/steps.py",
        "ClientSteps",
        "`client.steps`; each is also a blocking method of the client",
        (
            "client/requesting.py:Requesting.request",
            "client/record_steps.py:RecordSteps",
            "client/transaction_steps.py:TransactionSteps",
            "client/consumer_group_steps.py:ConsumerGroupSteps",
            "client/share_group_steps.py:ShareGroupSteps",
            "client/streams_group_steps.py:StreamsGroupSteps",
            "client/login_steps.py:LoginSteps",
            "client/admin_steps.py:AdminSteps",
            "client/group_admin_steps.py:GroupAdminSteps",
        ),
    ),
    Part("client/share_acknowledgements.py", "AcquiredRecord", "`client.share_fetch(...)`"),
    Part("client/streams_group_steps.py", "Subtopology", "`client.join_streams_group(...)`"),
    Part("client/streams_group_steps.py", "InternalTopic", "a changelog or repartition topic of a Subtopology"),
    Part("client/scripted/scripted_client.py", "PendingStep", "`client.start(client.steps.rejoin())`"),
    Part("testing/handles/journal.py", "JournalHandle", "`broker.journal`"),
    Part("broker/engine/journal.py", "Exchange", "`broker.journal.requests()`"),
    Part("broker/engine/journal.py", "Recorded", "`broker.journal.events()`"),
    Part("testing/handles/expectation.py", "Expectation", '`broker.journal.expect("JoinGroup")`'),
    Part("testing/handles/expectation.py", "RequestPattern", "`broker.journal.wait(...)`"),
    Part("testing/journal/saved.py", "SavedJournal", "`fakebroker.testing.journal.saved.load(path)`"),
    Part("testing/journal/diff.py", "JournalDiff", "`broker.journal.diff(path)`"),
    Part("testing/sweeps/report.py", "SweepReport", "`fakebroker.sweep(run)`"),
    Part("testing/sweeps/report.py", "CaseResult", "`fakebroker.sweep(run).results`, `.broken`"),
    Part(
        "broker/core/events.py",
        "Transition",
        '`broker.journal.events("transition")`, `broker.group(group_id).transitions`',
    ),
    Part("broker/core/events.py", "GroupEpochBumped", '`broker.journal.events("group_epoch_bumped")`'),
    Part("broker/core/events.py", "AssignmentComputed", '`broker.journal.events("assignment_computed")`'),
    Part(
        "broker/core/events.py",
        "MemberTransition",
        '`broker.journal.events("member_transition")`, `broker.group(group_id).member_transitions`',
    ),
    Part(
        "broker/core/events.py",
        "TransactionTransition",
        '`broker.journal.events("transaction_transition")`, `broker.transaction(transactional_id).transitions`',
    ),
    Part(
        "broker/core/explain/transactions.py",
        "TransactionExplanation",
        "`broker.transaction(transactional_id).explain()`",
    ),
    Part("broker/core/explain/offsets.py", "GroupExplanation", "`broker.group(group_id).explain()`"),
    Part("broker/core/explain/members.py", "Reconciliation", "`broker.group(group_id).explain().reconciliation`"),
    Part(
        "broker/core/explain/members.py",
        "MemberExplanation",
        "`broker.group(group_id).explain().reconciliation.members`",
    ),
    Part("broker/core/explain/share_partitions.py", "SharePartitionView", "`broker.group(group_id).share_partitions`"),
    Part(
        "broker/core/explain/share_partitions.py",
        "DeliveredRecords",
        "`broker.group(group_id).share_partitions[0].records`",
    ),
    Part("broker/core/explain/pending_offsets.py", "PendingExplanation", "`broker.group(group_id).explain().pending`"),
    Part("broker/core/events.py", "CoordinatorMoved", '`broker.journal.events("coordinator_moved")`'),
    Part("broker/core/events.py", "ClockMoved", '`broker.journal.events("clock_moved")`'),
    Part("broker/core/events.py", "ClientThrottled", '`broker.journal.events("client_throttled")`'),
    Part("broker/core/events.py", "MetricsPushed", '`broker.journal.events("metrics_pushed")`'),
    Part("broker/core/events.py", "FaultHit", '`broker.journal.events("fault_hit")`'),
    Part("broker/core/events.py", "NodeChanged", '`broker.journal.events("node_changed")`'),
)
FUNCTIONS = (Part("testing/sweeps/runner.py", "sweep", "`from fakebroker import sweep`"),)
ERRORS = (
    "FakebrokerError",
    "KafkaError",
    "SettingError",
    "InvalidArgument",
    "UnknownThing",
    "WaitTimeout",
    "ExpectationFailed",
    "BrokerStopped",
    "WireError",
)


def python_api_page(note: str) -> str:
    """The whole page; `note` says that it is generated."""
    lines = [
        "# The Python API",
        note,
        "",
        "What a test can call, as the source declares it. The fixtures and the marker are in",
        "[pytest.md](../how-to/pytest.md). Brokers, errors and `sweep` are imported from `fakebroker`. The types of",
        "what brokers give, for annotations, are in `fakebroker.types`: `from fakebroker.types import GroupHandle`.",
        "How-to pages: [groups](classic-group-states.md), [how long offsets live](../explanation/expiry.md),",
        "[transactions](../explanation/transactions.md), [snapshots](../how-to/snapshots.md),",
        "[faults](../how-to/faults.md), [fault sweeps](../how-to/sweep.md).",
        "",
        ", ".join(f"[{name}](#{name.lower()})" for name in (*(part.name for part in (*PARTS, *FUNCTIONS)), "Errors")),
    ]
    for part in PARTS:
        lines += ["", f"## {part.name}", "", f"From {part.got_by}.", "", *_class_lines(part)]
    for part in FUNCTIONS:
        lines += ["", f"## {part.name}", "", f"From {part.got_by}.", "", *_function_lines(part)]
    return "\n".join([*lines, "", "## Errors", "", *_error_lines()]) + "\n"


def _class_lines(part: Part) -> Iterator[str]:
    yield from _paragraphs(_doc(_classes(part.module)[part.name]))
    for base in (*part.bases, part.name):
        module, _, name = base.rpartition(":")
        name, _, only = name.partition(".")
        for member in _classes(module or part.module)[name].body:
            if only in ("", getattr(member, "name", "")):
                yield from _member_lines(member, part.name)


def _function_lines(part: Part) -> Iterator[str]:
    for node in ast.parse((PACKAGE / part.module).read_text()).body:
        if isinstance(node, ast.FunctionDef) and node.name == part.name:
            yield from (f"`{_signature(node, part.name)}`", "", *_paragraphs(_doc(node)))


def _member_lines(member: ast.stmt, owner: str) -> Iterator[str]:
    match member:
        case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation) if not name.startswith("_"):
            yield f"- `{name}: {_plain(annotation)}`"
        case ast.FunctionDef() | ast.AsyncFunctionDef() if _is_shown(member):
            if ast.get_docstring(member) or member.name == "__init__":
                yield from ("", f"### `{_signature(member, owner)}`", "", *_paragraphs(_doc(member)))


def _is_shown(function: Definition) -> bool:
    decorators = {ast.unparse(each) for each in function.decorator_list}
    is_public = not function.name.startswith("_") or (function.name == "__init__" and ast.get_docstring(function))
    return bool(is_public) and "abstractmethod" not in decorators and not any(".setter" in each for each in decorators)


def _signature(function: Definition, owner: str) -> str:
    if any(ast.unparse(each) == "property" for each in function.decorator_list):
        return f"{function.name}: {_plain(function.returns)}"
    arguments = _plain(function.args).removeprefix("self").removeprefix(", ").removeprefix("/, ")
    name = owner if function.name == "__init__" else function.name
    start = "await " if isinstance(function, ast.AsyncFunctionDef) else ""
    returns = _plain(function.returns)
    return f"{start}{name}({arguments})" + (f" -> {returns}" if returns not in ("None", "") else "")


def _error_lines() -> Iterator[str]:
    classes = _classes("protocol/errors.py")
    for name in ERRORS:
        bases = ", ".join(ast.unparse(base) for base in classes[name].bases)
        yield f"- `{name}({bases})`: {' '.join(_doc(classes[name]).split())}"
    yield "- `ErrorCode`: Kafka's error codes by name and number, `.is_retriable` as clients see it."


def _classes(module: str) -> dict[str, ast.ClassDef]:
    tree = ast.parse((PACKAGE / module).read_text())
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def _doc(node: ast.ClassDef | Definition) -> str:
    return cleandoc(ast.get_docstring(node, clean=False) or "")


def _paragraphs(text: str) -> Iterator[str]:
    """The lines of a docstring; its indented examples stay blocks of code."""
    yield from text.splitlines()


def _plain(node: ast.AST | None) -> str:
    """Source text of an annotation or of parameters; annotations in quotes without them."""
    if node is None:
        return ""
    if isinstance(node, ast.arguments):
        if node.kwarg and node.kwarg.annotation and ast.unparse(node.kwarg.annotation) == "Unpack[FaultFields]":
            keywords = [each for each in _classes(_FAULT_FIELDS)["FaultFields"].body if isinstance(each, ast.AnnAssign)]
            node.kwonlyargs = [ast.arg(ast.unparse(each.target), each.annotation) for each in keywords]
            node.kw_defaults, node.kwarg = [ast.Constant(None) for _ in keywords], None
        varargs = [node.vararg] if node.vararg else []
        for argument in (*node.posonlyargs, *node.args, *varargs, *node.kwonlyargs):
            argument.annotation = argument.annotation and ast.parse(_plain(argument.annotation), mode="eval").body
        return ast.unparse(node)
    return ast.unparse(_Plain().visit(node))


_FAULT_FIELDS = "broker/engine/faults/fields.py"
_TYPES = ("protocol/arguments/types.py", "serve/listener_options.py", _FAULT_FIELDS)


@cache
def _types() -> dict[str, str]:
    """The types of arguments that have a name of their own, as the types that a caller needs to know."""
    found: dict[str, str] = {}
    for module in (*_TYPES, *(part.module for part in PARTS), "testing/handles/expectation.py"):
        for node in ast.parse((PACKAGE / module).read_text()).body:
            match node:
                case ast.Assign(
                    targets=[ast.Name(id=name)],
                    value=ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[kind, *_])),
                ):
                    found[name] = ast.unparse(kind)
    return found


class _Plain(ast.NodeTransformer):
    """Annotations without what is checked beside the type, and without quotes."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        kind = _types().get(node.id)
        return node if kind is None else ast.parse(kind, mode="eval").body

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if ast.unparse(node.value) == "Annotated" and isinstance(node.slice, ast.Tuple):
            kind: ast.expr = self.visit(node.slice.elts[0])
            return kind
        self.generic_visit(node)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return ast.parse(node.value, mode="eval").body if isinstance(node.value, str) else node
