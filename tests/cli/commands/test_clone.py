"""`fakebroker clone`: what it writes and says, and how it ends."""

from collections.abc import Iterator
from functools import partialmethod
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fakebroker import FakeBroker, Snapshot
from fakebroker.cli.commands import clone as command
from fakebroker.cli.main import main
from fakebroker.client.cluster.asking import Asking
from fakebroker.protocol.listeners import PLAINTEXT, SASL_PLAINTEXT, SSL
from fakebroker.testing.clone.cloning import Progress
from tests.support.secured import command_config, secured_broker
from tests.testing.clone.test_cloning import FEW_PARTITIONS


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["clone", *arguments])


@pytest.fixture
def source() -> Iterator[FakeBroker]:
    """A broker with two topics, records and a group."""
    with FakeBroker(config=FEW_PARTITIONS) as broker:
        broker.create_topic("orders", partitions=2)
        broker.create_topic("payments")
        for n in range(5):
            broker.topic("orders").produce(f"secret value {n}", key="k", partition=0)
        client = broker.client("billing")
        client.find_coordinator("billing")
        client.commit({("orders", 0): 3}, group_id="billing")
        yield broker


def test_it_writes_a_snapshot(source: FakeBroker, tmp_path: Path) -> None:
    """The file starts a broker with the same groups, and a line says what is in it."""
    out = tmp_path / "state.fbs"
    done = run("--from", source.bootstrap, "--out", str(out), "--records", "2")

    assert done.exit_code == 0, done.output
    assert done.stdout == (f"{out}: 2 topics with 3 partitions, 1 group with 1 committed offset, 2 records\n")
    broker = Snapshot.load(out).fork()
    assert broker.group("billing").offsets == {("orders", 0): 3}
    assert [each.offset for each in broker.topic("orders").records()] == [3, 4]


def test_it_overwrites_only_by_force(source: FakeBroker, tmp_path: Path) -> None:
    """A file that is there stays, unless --force is given."""
    out = tmp_path / "state.fbs"
    out.write_text("mine")

    assert "exists; --force overwrites it" in run("--from", source.bootstrap, "--out", str(out)).output
    assert out.read_text() == "mine"
    assert run("--from", source.bootstrap, "--out", str(out), "--force").exit_code == 0
    assert Snapshot.load(out).topics


def test_names_and_payloads_are_hidden(source: FakeBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With both options neither names nor values are in the file; the secret's origin is said."""
    monkeypatch.setenv("FAKEBROKER_SECRET", "a long secret of mine")
    out = tmp_path / "state.fbs"
    options = ["--anonymise", "--without-payloads", "--since", "2020-01-01T00:00Z"]
    done = run("--from", source.bootstrap, "--out", str(out), *options)

    assert "the secret in FAKEBROKER_SECRET" in done.stderr
    content = out.read_bytes()
    assert [each for each in (b"orders", b"billing", b"secret value") if each in content] == []
    assert len(
        Snapshot.load(out).fork().topic(next(t for t in Snapshot.load(out).topics if t.startswith("topic-"))).name
    )


def test_a_broker_that_goes_away(source: FakeBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says that the same command resumes, and it does."""
    out = tmp_path / "state.fbs"
    went: list[Progress] = []

    class Stopping(command._Shown):
        def tell(self, progress: Progress) -> None:
            if progress.what == "groups" and not went:
                went.append(progress)
                source.stop()

    monkeypatch.setattr(command, "_Shown", Stopping)
    monkeypatch.setattr(Asking, "__init__", partialmethod(Asking.__init__, retries=1))
    done = run("--from", source.bootstrap, "--out", str(out))

    assert done.exit_code == 3
    assert f"what was cloned is kept in {out}.part, and the same command resumes" in done.output
    assert not out.exists()
    source.start()
    assert run("--from", source.bootstrap, "--out", str(out)).exit_code == 0
    assert Snapshot.load(out).fork().group("billing").offsets == {("orders", 0): 3}


def test_an_unfinished_clone_of_something_else(source: FakeBroker, tmp_path: Path) -> None:
    """The folder of a clone with other options is refused; --restart discards it."""
    out = tmp_path / "state.fbs"
    folder = tmp_path / "state.fbs.part"
    folder.mkdir()
    (folder / "mine").write_text("x")

    refused = run("--from", source.bootstrap, "--out", str(out))
    assert refused.exit_code == 2
    assert f"{folder} is no unfinished clone; remove it, or use --restart" in refused.output
    assert run("--from", source.bootstrap, "--out", str(out), "--restart").exit_code == 0
    assert not folder.exists()


def test_patterns_that_match_nothing(source: FakeBroker, tmp_path: Path) -> None:
    """A note says so: a mistyped name would be an empty clone."""
    options = ["--topics", "ordesr*", "--topics", "x", "--groups", "biling"]
    done = run("--from", source.bootstrap, "--out", str(tmp_path / "state.fbs"), *options)

    assert done.exit_code == 0
    assert "note: no topic matches 'ordesr*' or 'x'\n" in done.output
    assert "note: no group matches 'biling'\n" in done.output


def test_a_folder_that_does_not_exist(source: FakeBroker, tmp_path: Path) -> None:
    """The error names the folder of --out."""
    refused = run("--from", source.bootstrap, "--out", str(tmp_path / "missing" / "state.fbs"))

    assert refused.exit_code == 2
    assert f"--out: the folder {tmp_path / 'missing'} does not exist; make it first" in refused.output


def test_secured_listeners(tmp_path: Path) -> None:
    """Over TLS and with a login; without them a sentence says what is missing."""
    with secured_broker() as broker:
        addresses = {each.name: f"{each.host}:{each.port}" for each in broker.listeners}
        for protocol in (SSL, SASL_PLAINTEXT):
            out = str(tmp_path / protocol)
            config = command_config(tmp_path / "..", protocol)
            missing = run("--from", addresses[protocol], "--out", out)
            assert (missing.exit_code, "security.protocol" in missing.output) == (3, True), missing.output
            done = run("--from", addresses[protocol], "--out", out, "--command-config", config)
            assert done.exit_code == 0, done.output
        assert PLAINTEXT in addresses
