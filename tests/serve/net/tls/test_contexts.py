"""Keys and certificates by Kafka's settings: which files are read, and when; what is said of bad ones."""

import os
import shutil
import ssl
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from fakebroker import FakeBroker
from fakebroker.protocol.errors import ErrorCode, SettingError
from fakebroker.serve.net.tls import contexts
from fakebroker.serve.net.tls.key_costs import check_pem
from fakebroker.testing.virtual_broker import VirtualBroker
from tests.support.der import encrypted_key, pbkdf2, pem
from tests.support.tls import address_of, asked, authority, client_context, principals, speaking, stranger

LISTEN = "SSL://127.0.0.1:0"
PASSWORD = "fakebroker"


def served(config: Mapping[str, object], context: ssl.SSLContext | None = None) -> list[str]:
    """Who a client is, with a good certificate unless another context is given, on a broker with these settings."""
    context = context or client_context(authority().issue_client("alice"))
    with FakeBroker(listen=LISTEN, config=config) as broker:
        assert asked(address_of(broker), context)
        return principals(broker)


def test_pem_in_the_settings_themselves() -> None:
    """Kafka's other form: no files at all."""
    good = authority().issue()
    config = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": good.key_file.read_text(),
        "ssl.keystore.certificate.chain": good.file.read_text(),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": authority().ca_file.read_text(),
        "ssl.client.auth": "required",
    }
    assert served(config) == ["User:CN=alice"]


def test_a_truststore_need_not_have_the_root() -> None:
    """In Java each certificate in it is trusted, be it an intermediate authority's or a client's own."""
    other, another = (stranger().issue_client(name) for name in ("bob", "carol"))
    config = authority().broker_config() | {"ssl.client.auth": "required"}
    config = {name: value for name, value in config.items() if not name.startswith("ssl.truststore")}
    config |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": other.file.read_text()}
    with FakeBroker(listen=LISTEN, config=config) as broker:
        assert asked(address_of(broker), client_context(other))
        with pytest.raises(ssl.SSLError, match="unknown ca"):
            asked(address_of(broker), client_context(another))
        assert principals(broker) == ["User:CN=bob"]


def test_keys_are_exchanged_on_one_curve() -> None:
    """A hello of a KB that asks for a finite field of 8,192 bits would take 170 ms, before any login."""
    with FakeBroker(listen=LISTEN, config=authority().broker_config()) as broker:
        context = client_context()
        context.set_ecdh_curve("secp384r1")
        with pytest.raises(ssl.SSLError, match="handshake failure"):
            asked(address_of(broker), context)
        assert asked(address_of(broker), client_context())


def test_pkcs12() -> None:
    """What Java makes; the type need not be said, as in Java, which reads it as the JKS that is the default."""
    good = authority().issue()
    config = {
        "ssl.keystore.location": good.pkcs12_file,
        "ssl.keystore.password": PASSWORD,
        "ssl.truststore.location": authority().truststore_pkcs12_file,
        "ssl.truststore.password": PASSWORD,
        "ssl.client.auth": "required",
    }
    assert served({name: str(value) for name, value in config.items()}) == ["User:CN=alice"]


def test_a_listener_may_have_a_certificate_of_its_own() -> None:
    """By `listener.name.<name>.`; a listener without one has that of all."""
    config = {
        **authority().broker_config(),
        "listener.name.inner.ssl.keystore.location": str(authority().issue("inner.example").keystore_file),
        "listener.security.protocol.map": "SSL:SSL,INNER:SSL",
    }
    with FakeBroker(listen=[LISTEN, "INNER://127.0.0.1:0"], config=config) as broker:
        assert asked(address_of(broker), client_context())
        assert asked(address_of(broker, "INNER"), client_context(), "inner.example")


def test_a_file_that_has_changed_is_read_for_the_next_connection(tmp_path: Path) -> None:
    """A renewed certificate; one that cannot be used closes connections until it can, and no others suffer."""
    keystore = tmp_path / "keystore.pem"
    shutil.copy(authority().issue("first.example").keystore_file, keystore)
    config = authority().broker_config() | {"ssl.keystore.location": str(keystore)}
    with FakeBroker(listen=[LISTEN, "PLAINTEXT://127.0.0.1:0"], config=config) as broker:
        assert asked(address_of(broker), client_context(), "first.example")
        shutil.copy(authority().issue("second.example").keystore_file, keystore)
        assert asked(address_of(broker), client_context(), "second.example")
        keystore.write_text("nothing")
        with pytest.raises(OSError), speaking(address_of(broker), client_context()):
            pass
        assert asked(address_of(broker, "PLAINTEXT"), None)
        shutil.copy(authority().issue("third.example").keystore_file, keystore)
        assert asked(address_of(broker), client_context(), "third.example")


def test_settings_may_be_altered_while_the_broker_runs() -> None:
    """As in Kafka (KIP-226), for one listener."""
    config = authority().broker_config()
    with FakeBroker(listen=["PLAINTEXT://127.0.0.1:0", LISTEN], config=config) as broker:
        name = "listener.name.ssl.ssl.keystore.location"
        renewed = str(authority().issue("new.example").keystore_file)
        broker.client().alter_configs("1", {name: renewed}, kind="broker")
        assert asked(address_of(broker), client_context(), "new.example")


COSTLY = pem(encrypted_key(pbkdf2(2**31 - 1)))
BAD_STORES = [
    ({"keystore.location": "/no/such"}, "cannot read /no/such: No such file"),
    ({"keystore.location": "/etc/passwd"}, "is not a PKCS12 file"),
    ({"keystore.location": "/no\0such"}, "cannot read '/no\\x00such': embedded null byte"),
    ({"truststore.location": "/no/such"}, "cannot read /no/such: No such file"),
    ({"truststore.certificates": "nonsense", "truststore.location": ""}, "its certificates cannot be used"),
    ({"keystore.location": "", "keystore.key": "\u20ac", "keystore.certificate.chain": "\u20ac"}, "cannot be used"),
    (
        {"keystore.location": "", "keystore.key": COSTLY, "keystore.certificate.chain": "x"},
        "its encryption takes 2,147,483,647 iterations",
    ),
]


@pytest.mark.rules("IA-12")
@pytest.mark.parametrize(("altered", "problem"), BAD_STORES)
def test_a_store_that_cannot_be_used_is_not_set(altered: dict[str, str], problem: str) -> None:
    """The answer says why, and the listener goes on with the store that it has."""
    changes = {f"listener.name.ssl.ssl.{name}": value for name, value in altered.items()}
    with FakeBroker(listen=["PLAINTEXT://127.0.0.1:0", LISTEN], config=authority().broker_config()) as broker:
        [answer] = broker.client().alter_configs("1", changes, kind="broker").responses
        assert answer.error_code == ErrorCode.INVALID_REQUEST
        assert problem in answer.error_message
        assert asked(address_of(broker, "SSL"), client_context())


def test_a_large_store_is_not_read(tmp_path: Path) -> None:
    """A client that can write the file, as that of a log, would have each connection read it anew."""
    large = tmp_path / "large.pem"
    large.write_text(authority().ca_file.read_text() + " " * (1 << 20))
    config = authority().broker_config() | {"ssl.truststore.location": str(large)}
    with pytest.raises(SettingError, match=r"large\.pem is larger than 1,048,576 bytes"):
        FakeBroker(listen=LISTEN, config=config).start()


@pytest.mark.rules("IA-12")
@pytest.mark.parametrize("store", ["location", "certificates"])
def test_a_listener_without_a_truststore_gets_none(store: str) -> None:
    """A client that may alter configs would decide who passes for a super user; 4.3.1 refuses it, too."""
    config = {name: value for name, value in authority().broker_config().items() if "truststore" not in name}
    own = {"location": str(authority().ca_file), "certificates": authority().ca_file.read_text()}
    name = f"listener.name.ssl.ssl.truststore.{store}"
    with FakeBroker(listen=["PLAINTEXT://127.0.0.1:0", LISTEN], config=config) as broker:
        [answer] = broker.client().alter_configs("1", {name: own[store]}, kind="broker").responses
        assert answer.error_code == ErrorCode.INVALID_REQUEST
        assert "the listener SSL has no truststore, and gets none while it runs" in answer.error_message


@pytest.mark.rules("IA-12")
def test_a_store_is_looked_at_only_where_it_is_used() -> None:
    """As in Kafka: not for a listener that the broker does not have, and not when something else is altered."""
    config = authority().broker_config()
    with FakeBroker(listen=["PLAINTEXT://127.0.0.1:0", LISTEN], config=config) as broker:
        client = broker.client()
        client.alter_configs("1", {"listener.name.other.ssl.keystore.location": "/no/such"}, kind="broker")
        client.alter_configs("1", {"listener.name.plaintext.ssl.keystore.location": "/no/such"}, kind="broker")
        client.alter_configs("1", {"listener.name.ssl.ssl.client.auth": "requested"}, kind="broker")
        assert asked(address_of(broker, "SSL"), client_context())


def test_a_wrong_password_is_tried_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Not by each connection: a key may take a second to decrypt. When the file changes it is tried again."""
    keystore = tmp_path / "keystore.pem"
    shutil.copy(authority().issue().keystore_file, keystore)
    read: list[str] = []

    def noted(text: str) -> str:
        read.append(text)
        return check_pem(text)

    config = authority().broker_config() | {"ssl.keystore.location": str(keystore)}
    with FakeBroker(listen=LISTEN, config=config) as broker:
        monkeypatch.setattr(contexts, "check_pem", noted)
        keystore.write_text("-----BEGIN NOTHING-----")
        for _ in range(3):
            with pytest.raises(OSError), speaking(address_of(broker), client_context()):
                pass
        assert len(read) == 1
        shutil.copy(authority().issue("third.example").keystore_file, keystore)
        assert asked(address_of(broker), client_context(), "third.example")


@pytest.mark.parametrize("store", ["keystore", "truststore"])
@pytest.mark.parametrize("kind", ["pipe", "/dev/zero"])
def test_a_client_cannot_name_a_file_whose_reading_never_ends(kind: str, store: str, tmp_path: Path) -> None:
    """The answer says so, and all listeners go on."""
    location = Path(kind) if kind.startswith("/") else tmp_path / kind
    if kind == "pipe":
        os.mkfifo(location)
    config = authority().broker_config()
    with FakeBroker(listen=["PLAINTEXT://127.0.0.1:0", LISTEN], config=config) as broker:
        name = f"listener.name.ssl.ssl.{store}.location"
        [answer] = broker.client().alter_configs("1", {name: str(location)}, kind="broker").responses
        assert "it is not a regular file" in answer.error_message
        assert asked(address_of(broker, "SSL"), client_context())
        assert asked(address_of(broker, "PLAINTEXT"), None)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (
            {"ssl.keystore.location": "/no/such/file"},
            r"location: cannot read /no/such/file: No such file",
        ),
        ({"ssl.keystore.location": "{ca}"}, r"ssl\.keystore\.location: its key and certificates cannot be used"),
        ({"ssl.keystore.location": "{mixed}"}, r"ssl\.keystore\.location: .*KEY_VALUES_MISMATCH"),
        ({"ssl.keystore.location": "{pkcs12}"}, r"not a PKCS12 file, or ssl\.keystore\.password is wrong"),
        ({"ssl.keystore.location": "{trusted}", "ssl.keystore.password": PASSWORD}, "has no key with a certificate"),
        ({"ssl.keystore.location": "{jks}"}, r"is a JKS file.*keytool -importkeystore"),
        ({"ssl.truststore.location": "{empty}"}, r"ssl\.truststore\.location: .*is not a PKCS12 file"),
        ({"ssl.truststore.location": "{key}"}, r"ssl\.truststore\.location: its certificates cannot be used"),
        ({"ssl.enabled.protocols": "TLSv1.1"}, r"ssl\.enabled\.protocols: TLSv1\.1: TLSv1\.2 and TLSv1\.3 are served"),
        ({"ssl.principal.mapping.rules": "RULE"}, r"Invalid rule: `RULE`"),
    ],
)
def test_what_cannot_be_used_is_reported_before_the_broker_starts(
    settings: dict[str, str], problem: str, tmp_path: Path
) -> None:
    """By the name of the setting."""
    good, other = authority().issue(), stranger().issue()
    files = {
        "ca": authority().ca_file,
        "mixed": tmp_path / "mixed.pem",
        "pkcs12": good.pkcs12_file,
        "trusted": authority().truststore_pkcs12_file,
        "jks": tmp_path / "store.jks",
        "empty": tmp_path / "empty.pem",
        "key": good.key_file,
    }
    files["mixed"].write_text(good.key_file.read_text() + other.file.read_text())
    files["jks"].write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2")
    files["empty"].write_text("")
    config = authority().broker_config() | {name: text.format(**files) for name, text in settings.items()}
    with pytest.raises(SettingError, match=problem) as caught:
        FakeBroker(listen=LISTEN, config=config)
    assert "PRIVATE KEY" not in str(caught.value)


def test_older_versions_of_tls_can_be_left_out() -> None:
    """`ssl.enabled.protocols` says which there are."""
    config = authority().broker_config() | {"ssl.enabled.protocols": "TLSv1.3"}
    with FakeBroker(listen=LISTEN, config=config) as broker:
        with pytest.raises(ssl.SSLError, match="PROTOCOL_VERSION"):
            asked(address_of(broker), client_context(version=ssl.TLSVersion.TLSv1_2))
        assert asked(address_of(broker), client_context(version=ssl.TLSVersion.TLSv1_3))


def test_where_clients_log_in_certificates_are_asked_for_by_that_listener_alone() -> None:
    """In Kafka `ssl.client.auth` of all listeners does not count there, and the principal is the user."""
    config = authority().broker_config("required")
    listen = "SASL_SSL://127.0.0.1:0"
    with FakeBroker(listen=listen, config=config, users={"alice": "pa"}) as broker:
        assert asked(address_of(broker, "SASL_SSL"), client_context())
    config["listener.name.sasl_ssl.ssl.client.auth"] = "required"
    with FakeBroker(listen=listen, config=config, users={"alice": "pa"}) as broker:
        with pytest.raises(ssl.SSLError):
            asked(address_of(broker, "SASL_SSL"), client_context())
        assert asked(address_of(broker, "SASL_SSL"), client_context(authority().issue_client("bob")))
        assert principals(broker) == ["User:ANONYMOUS"]


def test_the_setting_listeners_says_the_protocol_too() -> None:
    """As for SASL, where nobody says it otherwise."""
    with FakeBroker(config=authority().broker_config() | {"listeners": "SSL://:9092"}) as broker:
        assert asked(address_of(broker), client_context())


def test_a_restored_snapshot_leaves_listeners_and_certificates_as_they_are() -> None:
    """Sockets stay what they are, whatever the broker of the snapshot had."""
    with FakeBroker() as plain:
        plain.create_topic("orders")
        snapshot = plain.snapshot()
    with FakeBroker(listen=LISTEN, config=authority().broker_config()) as broker:
        broker.restore(snapshot)
        assert asked(address_of(broker), client_context())
        assert broker.topic("orders").exists
        again = broker.snapshot()
        broker.reset()
        assert asked(address_of(broker), client_context())
    with again.fork() as fork:
        assert fork.topic("orders").exists


def test_there_is_no_tls_in_virtual_time() -> None:
    """Nothing goes over a network there."""
    with pytest.raises(SettingError, match="TLS is not available in virtual time"):
        VirtualBroker(config=authority().broker_config() | {"listeners": "SSL://:9092"})


@pytest.mark.skipif(shutil.which("keytool") is None, reason="NO STORE OF JAVA'S OWN IS READ: no keytool on the PATH")
def test_a_store_that_keytool_made(tmp_path: Path) -> None:
    """With its own algorithms, whatever they are in this Java."""
    store = tmp_path / "java.p12"
    command = ["keytool", "-genkeypair", "-alias", "broker", "-keyalg", "RSA", "-dname", "CN=localhost"]
    command += ["-ext", "SAN=dns:localhost", "-keystore", str(store), "-storepass", PASSWORD, "-storetype", "PKCS12"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    config = {"ssl.keystore.location": str(store), "ssl.keystore.password": PASSWORD}
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    assert served(config, context) == ["User:ANONYMOUS"]
