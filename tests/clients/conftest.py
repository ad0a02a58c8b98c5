"""Clients that log in, of every language."""

import gc
from collections.abc import Callable, Iterator

import pytest

from tests.clients.login_programs import LoginProgram
from tests.clients.logins import PYTHON_CLIENTS, Client, Login

Open = Callable[[str, Login], Client]


@pytest.fixture(scope="session")
def login_programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], LoginProgram]]:
    """The process of a language, which is started when it is first asked for."""
    running: dict[str, LoginProgram] = {}

    def program(language: str) -> LoginProgram:
        if language not in running:
            running[language] = LoginProgram(language, tmp_path_factory.mktemp("logins") / f"{language}.log")
        return running[language]

    yield program
    for each in running.values():
        each.close()


@pytest.fixture
def opened(login_programs: Callable[[str], LoginProgram]) -> Iterator[Open]:
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
