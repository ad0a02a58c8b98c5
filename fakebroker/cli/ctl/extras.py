"""What `fakebroker ctl` has beside the powers: isolated brokers, snapshots, the journal as stream and files, health.

The paths are those of `cli/http/extras.py`, which needs packages that a shell need not have;
tests/cli/ctl/test_extras.py compares the two.
"""

import inspect
from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple

from fakebroker.protocol.arguments.types import TimeoutS
from fakebroker.testing.broker import AsyncFakeBroker
from fakebroker.testing.reflection.members import Member
from fakebroker.testing.snapshot.snapshot import Snapshot


class Answer(Enum):
    """What is done with an answer."""

    SHOWN = "printed"
    FILE = "written to a file or to standard output"
    STREAM = "printed line by line as it arrives"


class Extra(NamedTuple):
    """A command that is no power."""

    verb: str
    path: str
    about: str
    options: Mapping[str, Any] = {}  # with their types
    method: tuple[type, str] | None = None  # whose arguments are options, too
    answer: Answer = Answer.SHOWN
    sends_file: bool = False
    of_broker: bool = False  # whether --broker is for it
    word: str = ""
    judges: bool = False  # whether the exit status is 1 when its answer is a scenario that failed

    @property
    def parameters(self) -> list[inspect.Parameter]:
        """Its options as arguments."""
        own = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
            for name, kind in self.options.items()
        ]
        return [*(_named_parameters(*self.method) if self.method else ()), *own]

    @property
    def in_path(self) -> list[str]:
        """The names of the path's placeholders."""
        return [part[1:-1] for part in self.path.split("/") if part[:1] == "{"]

    @property
    def has_body(self) -> bool:
        """Whether its arguments come in a body."""
        return self.verb == "POST"


class FileText(str):
    """The text of a file, which a shell names."""


def _named_parameters(owner: type, method: str) -> list[inspect.Parameter]:
    """The arguments of a method that have names of their own."""
    member = Member(owner, method, getattr(owner, method), is_property=False)
    return [each for each in member.parameters if each.kind is not each.VAR_KEYWORD]


_BROKER = "/brokers/{broker_id}"
_SNAPSHOT = "/snapshots/{snapshot_id}"
_SCENARIO = "/scenarios/{scenario_id}"
_FORK = """Start an isolated broker with the history of a snapshot.

Other settings or another release may be given. `--lost-commits` leaves commits out of the history. Control it
with `fakebroker ctl --broker ID`.
"""
_ADD = """Start an isolated broker with its own ports and state.

Control it with `fakebroker ctl --broker ID`. It listens on 127.0.0.1 unless --listen is given, and is removed after
--idle-ttl-s seconds (900) without requests and clients.
"""
_STREAM = """Follow the journal, a JSON line for each entry, until Ctrl-C.

It starts with the next entry, or with the sequence number --since.
"""
_LIVE = """Follow the messages of the web page as JSON lines, until Ctrl-C."""
_PLAY = """Play a scenario on the broker while its clients are connected.

FILE may be - for standard input. The command prints the id of the scenario; `ctl scenarios ID wait` waits for its end.
With --virtual it is played on a new broker in virtual time, and the result is printed. The exit status is 1 if it
failed.
"""
_WAIT = """Wait until a scenario ends, and print the result.

The exit status is 1 if it failed, was cancelled, or did not end in time.
"""

_PLAY_OPTIONS = {"scenario": FileText, "seed": int, "parameters": Mapping[str, str], "virtual": bool, "name": str}

EXTRAS = (
    Extra("GET", "/brokers", "List the isolated brokers."),
    Extra("POST", "/brokers", _ADD, {"idle_ttl_s": TimeoutS}, (AsyncFakeBroker, "__init__")),
    Extra("GET", _BROKER, "Show an isolated broker."),
    Extra("DELETE", _BROKER, "Stop an isolated broker; fails if it had an internal error."),
    Extra("GET", "/snapshots", "List the snapshots."),
    Extra("POST", "/snapshots", "Take a snapshot of the broker, time included.", of_broker=True),
    Extra("GET", _SNAPSHOT, "Show a snapshot."),
    Extra("DELETE", _SNAPSHOT, "Delete a snapshot."),
    Extra("POST", f"{_SNAPSHOT}/restore", "Restore a snapshot; disconnects clients.", of_broker=True),
    Extra("POST", f"{_SNAPSHOT}/fork", _FORK, {"idle_ttl_s": TimeoutS}, (Snapshot, "async_fork")),
    Extra("GET", f"{_SNAPSHOT}/file", "Save a snapshot as a file, for `fakebroker serve --from`.", answer=Answer.FILE),
    Extra("POST", "/snapshots/file", "Load a snapshot from FILE; - is standard input.", sends_file=True),
    Extra("GET", "/about", "Show the identity of the broker.", of_broker=True),
    Extra("GET", "/names", "List the names of APIs, errors, actions, states and kinds of lines.", of_broker=True),
    Extra("GET", "/overview", "Show the overview of the web page.", of_broker=True),
    Extra("GET", "/connections", "List the connections of clients.", of_broker=True),
    Extra("GET", "/group_lags", "Show the lag of groups.", {"group": str}, of_broker=True),
    Extra("GET", "/topics/{name}/newest", "Show the newest records of a topic.", {"search": str}, of_broker=True),
    Extra("GET", "/topics/{name}/groups", "List the groups that read a topic.", of_broker=True),
    Extra(
        "GET", "/live", _LIVE, {"since": int, "groups_since": int, "what": str}, answer=Answer.STREAM, of_broker=True
    ),
    Extra("GET", "/journal/stream", _STREAM, {"since": int}, answer=Answer.STREAM, of_broker=True),
    Extra("GET", "/journal/file", "Save the journal as a file of JSON lines.", answer=Answer.FILE, of_broker=True),
    Extra("GET", "/journal/trace", "Save a timeline for https://ui.perfetto.dev.", answer=Answer.FILE, of_broker=True),
    Extra("GET", "/journal/pcap", "Save the frames as a capture for Wireshark.", answer=Answer.FILE, of_broker=True),
    Extra("POST", "/journal/diff", "Compare the journal FILE with the broker's.", sends_file=True, of_broker=True),
    Extra("GET", "/scenarios", "List running and recent scenarios.", of_broker=True),
    Extra("POST", "/scenarios", _PLAY, _PLAY_OPTIONS, of_broker=True, word="play", judges=True),
    Extra("GET", _SCENARIO, "Show a scenario with its problems and transcript.", of_broker=True),
    Extra("POST", f"{_SCENARIO}/wait", _WAIT, {"timeout_s": TimeoutS}, of_broker=True, judges=True),
    Extra("DELETE", _SCENARIO, "Cancel a scenario and delete it.", of_broker=True),
    Extra("GET", "/errors", "List the internal errors (bugs) of the broker.", of_broker=True),
    Extra("GET", "/healthz", "Check that the broker serves clients.", of_broker=True),
    Extra("GET", "/metrics", "Print the Prometheus metrics.", answer=Answer.FILE, of_broker=True),
    Extra("GET", "/openapi.json", "Print the OpenAPI document.", answer=Answer.FILE),
)
