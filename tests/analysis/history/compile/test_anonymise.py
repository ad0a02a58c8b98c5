"""Names hashed with a secret."""

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.analysis.history.compile.anonymise import HashedNames, PlainNames, secret_of
from fakebroker.protocol.errors import FakebrokerError

SECRET = b"a secret of the tests"


@given(st.text(), st.sampled_from(["group", "topic", "member"]))
def test_the_same_secret_gives_the_same_name(name: str, kind: str) -> None:
    """A hash depends on secret, kind and name, and on nothing else."""
    hashed = HashedNames(SECRET).name(kind, name)
    assert hashed == HashedNames(SECRET).name(kind, name)
    assert hashed.startswith(f"{kind}-")
    assert hashed != HashedNames(b"another secret of the tests").name(kind, name)
    assert hashed.partition("-")[2] != HashedNames(SECRET).name("other", name).partition("-")[2]


@given(st.text(max_size=200))
def test_metadata_keeps_its_size(text: str) -> None:
    """A text becomes one of as many bytes, always the same."""
    hidden = HashedNames(SECRET).metadata(text)
    assert len(hidden) == len(text.encode())
    assert hidden == HashedNames(SECRET).metadata(text)
    assert PlainNames().metadata(text) == text


def test_a_collision_is_an_error() -> None:
    """With few digits two names get the same hash; that is said, never passed over."""
    names = HashedNames(SECRET, digits=2)

    def hash_many() -> list[str]:
        return [names.name("topic", f"topic {number}") for number in range(300)]

    with pytest.raises(FakebrokerError, match=r"two names of the kind topic have the same hash topic-.* more than 2"):
        hash_many()


def test_what_everybody_knows_stays() -> None:
    """Assignors and protocol types of Kafka are no secrets; those of a company may be."""
    names = HashedNames(SECRET)
    assert names.public("protocol", "cooperative-sticky") == "cooperative-sticky"
    assert names.public("protocol", "acme-assignor").startswith("protocol-")


def test_where_the_secret_is_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file that is named, else the environment, else the file of the project, made for its owner alone."""
    monkeypatch.delenv("FAKEBROKER_SECRET", raising=False)
    made, origin = secret_of(None, tmp_path)
    assert "created" in origin
    assert len(made) == 64
    assert stat.S_IMODE((tmp_path / ".fakebroker-secret").stat().st_mode) == 0o600
    assert secret_of(None, tmp_path)[0] == made
    monkeypatch.setenv("FAKEBROKER_SECRET", "of the environment")
    assert secret_of(None, tmp_path)[0] == b"of the environment"
    (tmp_path / "mine").write_text("of a file\n")
    assert secret_of(tmp_path / "mine", tmp_path)[0] == b"of a file"


def test_bad_secrets(tmp_path: Path) -> None:
    """A secret that hides nothing and a file that cannot be read are refused."""
    with pytest.raises(FakebrokerError, match="the secret has 5 bytes; it needs at least 8"):
        HashedNames(b"short")
    with pytest.raises(FakebrokerError, match="the secret cannot be read"):
        secret_of(tmp_path, tmp_path)
