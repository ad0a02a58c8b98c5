"""The certificate authority: what stands in its certificates, and who may read their keys."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import pkcs12

from fakebroker.testing.certificates import Certificate, CertificateAuthority
from tests.support.tls import authority

DAY = timedelta(days=1)


def read(certificate: Certificate) -> x509.Certificate:
    return x509.load_pem_x509_certificate(certificate.file.read_bytes())


def test_a_certificate_for_this_machine() -> None:
    """For its names and addresses, from yesterday on for a year, of a key that Kafka can read."""
    made = authority().issue()
    found = read(made)
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(each.value) for each in names] == ["localhost", "127.0.0.1", "::1"]
    now = datetime.now(UTC)
    assert found.not_valid_before_utc < now - 23 * timedelta(hours=1) < now + 364 * DAY < found.not_valid_after_utc
    assert (made.subject, made.serial_number) == ("CN=localhost", found.serial_number)
    assert made.key_file.read_text().startswith("-----BEGIN PRIVATE KEY-----")
    assert made.keystore_file.read_text() == made.key_file.read_text() + made.file.read_text()


def test_dates_may_be_given() -> None:
    """For a clock that a test moves."""
    start = datetime(2031, 1, 1, tzinfo=UTC)
    for made in (
        authority().issue("a.example", valid_from=start, valid_to=start + DAY),
        authority().issue_client("alice", start, start + DAY),
    ):
        assert (read(made).not_valid_before_utc, read(made).not_valid_after_utc) == (start, start + DAY)


def test_bad_ones_are_bad_in_one_way_each() -> None:
    """Expired, not valid yet, for another host; of a broker or of a client."""
    now = datetime.now(UTC)
    for name in (None, "bob"):
        assert read(authority().issue_expired(name)).not_valid_after_utc < now
        assert read(authority().issue_not_yet_valid(name)).not_valid_before_utc > now
    names = read(authority().issue_wrong_host()).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [each.value for each in names] == ["wrong-host.example"]


def test_revoked_ones_are_in_the_list_and_in_what_brokers_trust() -> None:
    """Both are written anew; nothing is revoked at first."""
    own = CertificateAuthority()
    assert "X509 CRL" not in own.truststore_file.read_text()
    made = [own.issue_revoked(), own.issue_revoked("bob"), own.issue_client("rita"), own.issue_client("alice")]
    own.revoke(made[2])
    crl = x509.load_pem_x509_crl(own.crl_file.read_bytes())
    assert {each.serial_number for each in crl} == {each.serial_number for each in made[:3]}
    assert own.truststore_file.read_text() == own.ca_file.read_text() + own.crl_file.read_text()


def test_files_for_java() -> None:
    """A keystore with key and chain, a truststore with the authority marked as trusted."""
    made = authority().issue_client("alice")
    store = pkcs12.load_pkcs12(made.pkcs12_file.read_bytes(), made.password.encode())
    assert store.cert is not None
    assert store.cert.certificate == read(made)
    assert [each.certificate.subject.rfc4514_string() for each in store.additional_certs] == [
        "CN=fakebroker test authority"
    ]
    trusted = pkcs12.load_pkcs12(authority().truststore_pkcs12_file.read_bytes(), made.password.encode())
    assert [each.friendly_name for each in trusted.additional_certs] == [b"fakebroker"]


def test_keys_are_readable_for_their_owner_alone(tmp_path: Path) -> None:
    """And every certificate has files of its own, in the directory that was given."""
    own = CertificateAuthority(tmp_path / "made")
    first, second, third = own.issue_client("a/b"), own.issue_client("a/b"), own.issue_client("..")
    assert own.issue_client("a=b, c").subject == r"CN=a\=b\, c"
    files = [each for made in (first, second, third) for each in (made.key_file, made.keystore_file, made.pkcs12_file)]
    assert len(set(files)) == 9
    assert {each.parent for each in files} == {tmp_path / "made"}
    assert {each.stat().st_mode & 0o777 for each in files} == {0o600}


@pytest.mark.parametrize("library", ["confluent-kafka", "kafka-python", "aiokafka", "java", "java-pkcs12"])
def test_settings_of_clients_name_files_that_are_there(library: str) -> None:
    """With a certificate of their own and without; the protocol may be that of logins, too."""
    alice = authority().issue_client("alice")
    without = authority().client_config(library)
    own = authority().client_config(library, alice, security_protocol="SASL_SSL")
    assert {"SSL", "SASL_SSL"} <= {*map(str, without.values()), *map(str, own.values())}
    for value in (*without.values(), *own.values()):
        if isinstance(value, str) and value.startswith("/"):
            assert Path(value).exists()
    assert len(own) > len(without) or isinstance(own["ssl_context"], ssl.SSLContext)


def test_a_library_that_is_not_known_is_named() -> None:
    """With those that are."""
    with pytest.raises(ValueError, match="library: there is no 'kafka'; did you mean"):
        authority().client_config("kafka")
