"""`fakebroker tls`: what it writes, and that a broker takes the options that it prints."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from fakebroker import FakeBroker
from fakebroker.cli.main import main
from tests.support.tls import address_of, asked, client_context, principals


def test_a_broker_takes_what_it_prints(tmp_path: Path) -> None:
    """A client with its files is who it says."""
    arguments = ["tls", str(tmp_path / "made"), "--client", "alice", "--client-auth", "required", "--host", "localhost"]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    options = [line.partition("--config ")[2].partition("=") for line in done.output.splitlines() if "--config" in line]
    with FakeBroker(listen="SSL://127.0.0.1:0", config={name: value for name, _, value in options}) as broker:
        context = client_context()
        context.load_verify_locations(tmp_path / "made" / "ca.pem")
        context.load_cert_chain(tmp_path / "made" / "alice.pem")
        assert asked(address_of(broker), context)
        assert principals(broker) == ["User:CN=alice"]
    assert f"CN=alice: {tmp_path}/made/alice.crt.pem, {tmp_path}/made/alice.key.pem" in done.output


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    """The error names it."""
    (tmp_path / "file").write_text("")
    done = CliRunner().invoke(main, ["tls", str(tmp_path / "file")])
    assert (done.exit_code, "file: File exists" in done.output) == (2, True)


@pytest.mark.parametrize("option", ["--host", "--client", "--client-auth"])
def test_its_options_are_explained(option: str) -> None:
    """In its help."""
    assert option in CliRunner().invoke(main, ["tls", "--help"]).output
