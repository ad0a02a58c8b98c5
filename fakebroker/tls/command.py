"""`fakebroker tls`: certificates in a directory, for a broker in a process of its own and clients in any language."""

import click

from fakebroker.errors import FakebrokerError


@click.command()
@click.argument("directory")
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="A host or address where the broker is; may be repeated. [default: this machine]",
)
@click.option("--client", "clients", multiple=True, metavar="NAME", help="A client to make a certificate for: CN=NAME.")
@click.option(
    "--client-auth",
    type=click.Choice(["none", "requested", "required"]),
    default="none",
    show_default=True,
    help="Whether clients have to show a certificate.",
)
def tls(directory: str, hosts: tuple[str, ...], clients: tuple[str, ...], client_auth: str) -> None:
    """Make a certificate authority in DIRECTORY with certificates for a broker and for clients.

    Prints the options of `fakebroker serve` that use them, and the files for clients. Another call makes another
    authority, which does not trust the certificates of the first. Needs the extra `tls`.
    """
    try:
        from fakebroker.tls.authority import CertificateAuthority

        authority = CertificateAuthority(directory)
        config = authority.broker_config(client_auth, authority.issue(*hosts))
        click.echo("broker: --listen SSL://127.0.0.1:9093")
        for name, value in config.items():
            click.echo(f"broker: --config {name}={value}")
        click.echo(f"clients trust {authority.ca_file}, Java's {authority.truststore_pkcs12_file}")
        for name in clients:
            made = authority.issue_client(name)
            click.echo(f"{made.subject}: {made.file}, {made.key_file}, Java's {made.pkcs12_file}")
        click.echo("the password of PKCS12 files is fakebroker")
    except FakebrokerError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror or error}") from None
