"""Clients that log in, of every language."""

import gc
from collections.abc import Callable, Iterator

import pytest

from tests.clients.logins import PYTHON_CLIENTS, Client, Login
from tests.clients.programs import Program, login_command

Open = Callable[[str, Login], Client]


@pytest.fixture(scope="session")
def login_programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Program]]:
    """The process of a library, which is started when it is first asked for."""
    running: dict[str, Program] = {}

    def program(library: str) -> Program:
        if library not in running:
            running[library] = Program(login_command(library), tmp_path_factory.mktemp("logins") / f"{library}.log")
        return running[library]

    yield program
    for each in running.values():
        each.close()


@pytest.fixture
def opened(login_programs: Callable[[str], Program]) -> Iterator[Open]:
    """Makes clients that end with the test."""
    clients: list[Client] = []

    def opened(name: str, login: Login) -> Client:
        made = PYTHON_CLIENTS[name](login) if name in PYTHON_CLIENTS else login_programs(name).client(login)
        clients.append(made)
        return made

    yield opened
    for client in clients:
        client.close()
    clients.clear()
    gc.collect()  # sockets that kafka-python leaves open when it could not connect, while warnings are ignored
