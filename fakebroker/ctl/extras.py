"""What `fakebroker ctl` has beside the powers: isolated brokers, snapshots, the journal as stream and files, health.

The paths are those of `control/extras.py`, which needs packages that a shell need not have; tests/ctl/test_extras.py
compares the two.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, NamedTuple

from fakebroker.broker import AsyncFakeBroker
from fakebroker.object_model.members import Member
from fakebroker.snapshot.snapshot import Snapshot


class Answer(Enum):
    """What is done with an answer."""

    SHOWN = "printed"
    FILE = "written to a file, or to standard output as it is"
    STREAM = "printed line by line while it comes"


class Extra(NamedTuple):
    """A command that is no power."""

    verb: str
    path: str
    about: str
    parameters: Callable[[], Iterable[inspect.Parameter]] = tuple
    answer: Answer = Answer.SHOWN
    sends_file: bool = False
    of_broker: bool = False  # whether --broker is for it
    word: str = ""
    judges: bool = False  # whether the exit status is 1 when its answer is a scenario that failed

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


def _keyword(name: str, kind: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)


def _play_options() -> list[inspect.Parameter]:
    kinds = {"scenario": FileText, "seed": int, "parameters": Mapping[str, str], "virtual": bool, "name": str}
    return [_keyword(name, kind) for name, kind in kinds.items()]


def _wait_options() -> list[inspect.Parameter]:
    return [_keyword("timeout_s", float)]


def _broker_options() -> list[inspect.Parameter]:
    made = Member(AsyncFakeBroker, "__init__", AsyncFakeBroker.__init__, is_property=False).parameters
    return [*made, _keyword("idle_ttl_s", float)]


def _fork_options() -> list[inspect.Parameter]:
    made = Member(Snapshot, "async_fork", Snapshot.async_fork, is_property=False).parameters
    return [*(p for p in made if p.kind is not p.VAR_KEYWORD), _keyword("idle_ttl_s", float)]


def _stream_options() -> list[inspect.Parameter]:
    return [_keyword("since", int)]


def _live_options() -> list[inspect.Parameter]:
    return [_keyword(name, kind) for name, kind in {"since": int, "groups_since": int, "what": str}.items()]


_BROKER = "/brokers/{broker_id}"
_SNAPSHOT = "/snapshots/{snapshot_id}"
_SCENARIO = "/scenarios/{scenario_id}"
_FORK = """Start an isolated broker with the history of a snapshot.

It may have other settings, be another release, and `--lost-commits '[["GROUP", "TOPIC", 0]]'` lets commits never
have happened. `fakebroker ctl --broker ID` then controls it.
"""
_ADD = """Start an isolated broker with ports and state of its own; `fakebroker ctl --broker ID` controls it.

It listens on 127.0.0.1 unless `--listen HOST:PORT` says otherwise. It is removed after `--idle-ttl-s` seconds (900)
without a request and a client.
"""
_STREAM = """Print what happens while it happens, a JSON line for each entry of the journal; Ctrl-C ends it.

It begins with what happens next, or with the entry of the sequence number `--since`.
"""
_LIVE = """Print what happens while it happens, as the page gets it: a JSON line for each message; Ctrl-C ends it.

`--what` names parts, of lines, groups, clock, state and waiting, separated by commas; all without it.
"""
_PLAY = """Play the scenario FILE (- is standard input) on the broker, while its clients are connected.

It prints the id of the play, of which `fakebroker ctl scenarios ID wait` tells what came. With --virtual it is played
on a broker of its own in virtual time, and printed is what came of it. The exit status is 1 if it has failed.
"""
_WAIT = """Wait until a scenario is over, and tell what came of it.

The exit status is 1 if it has failed, was ended before its end, or is not over in time.
"""

EXTRAS = (
    Extra("GET", "/brokers", "The isolated brokers."),
    Extra("POST", "/brokers", _ADD, _broker_options),
    Extra("GET", _BROKER, "One isolated broker: its bootstrap address and nodes."),
    Extra("DELETE", _BROKER, "Stop an isolated broker; fails if it had an internal error, a bug, meanwhile."),
    Extra("GET", "/snapshots", "The snapshots that were taken."),
    Extra("POST", "/snapshots", "Keep all that the broker has durably, as it is now, time included.", of_broker=True),
    Extra("GET", _SNAPSHOT, "One snapshot: when it was taken, its topics and nodes."),
    Extra("DELETE", _SNAPSHOT, "Forget a snapshot."),
    Extra("POST", f"{_SNAPSHOT}/restore", "Make the broker what it was then; disconnects clients.", of_broker=True),
    Extra("POST", f"{_SNAPSHOT}/fork", _FORK, _fork_options),
    Extra("GET", f"{_SNAPSHOT}/file", "A snapshot as a file, for `fakebroker serve --from`.", answer=Answer.FILE),
    Extra("POST", "/snapshots/file", "Keep a snapshot that was saved as FILE (- is standard input).", sends_file=True),
    Extra("GET", "/about", "Which broker this is.", of_broker=True),
    Extra("GET", "/names", "The names of APIs, errors, actions of faults, kinds of journal lines.", of_broker=True),
    Extra("GET", "/live", _LIVE, _live_options, Answer.STREAM, of_broker=True),
    Extra("GET", "/journal/stream", _STREAM, _stream_options, Answer.STREAM, of_broker=True),
    Extra("GET", "/journal/file", "The journal as a file (JSON lines).", answer=Answer.FILE, of_broker=True),
    Extra("GET", "/journal/trace", "A timeline for https://ui.perfetto.dev.", answer=Answer.FILE, of_broker=True),
    Extra("GET", "/journal/pcap", "The frames as a capture for Wireshark.", answer=Answer.FILE, of_broker=True),
    Extra("POST", "/journal/diff", "How the journal FILE differs from the journal.", sends_file=True, of_broker=True),
    Extra(
        "GET",
        "/scenarios",
        "The scenarios that are being played, and the latest of those that are over.",
        of_broker=True,
    ),
    Extra("POST", "/scenarios", _PLAY, _play_options, of_broker=True, word="play", judges=True),
    Extra("GET", _SCENARIO, "One scenario: whether it is over, its problems, what happened.", of_broker=True),
    Extra("POST", f"{_SCENARIO}/wait", _WAIT, _wait_options, of_broker=True, judges=True),
    Extra("DELETE", _SCENARIO, "End a scenario where it is, and forget it.", of_broker=True),
    Extra("GET", "/errors", "The internal errors (bugs) of the broker so far.", of_broker=True),
    Extra("GET", "/healthz", "Whether the broker serves clients; fails if it does not.", of_broker=True),
    Extra("GET", "/metrics", "Prometheus metrics.", answer=Answer.FILE, of_broker=True),
    Extra("GET", "/openapi.json", "The OpenAPI document of the HTTP paths."),
)
