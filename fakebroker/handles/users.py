"""The users of a broker as a test sees them: who can log in, changed while it runs."""

from fakebroker.arguments import check_text, check_user
from fakebroker.core.cluster import Cluster
from fakebroker.errors import UnknownThing
from fakebroker.handles.handle import Handle
from fakebroker.instant import Instant


class UsersHandle(Handle):
    """The users that were declared, or given credentials by clients; not those in `sasl.jaas.config`."""

    def __repr__(self) -> str:
        return f"<users {', '.join(self.names) or '(none)'}>"

    @property
    def names(self) -> list[str]:
        """The users that have a password or a credential of SCRAM, sorted."""
        return self._with_cluster(lambda cluster, _now: cluster.credentials.users())

    def add(self, name: str, password: str) -> None:
        """Let a user log in by PLAIN and SCRAM from now on; a known user gets another password.

        Connections that are logged in live on (SC-5). No password is kept or shown. Raises InvalidArgument for an empty
        name or password.
        """
        check_user(name, password)
        self._with_cluster(lambda cluster, _now: cluster.credentials.add_user(name, password, cluster.seed))

    def remove(self, name: str) -> None:
        """Let a user not log in any more. Connections that are logged in live on. Raises UnknownThing."""
        check_text("name", name)

        def remove(cluster: Cluster, _now: Instant) -> None:
            if not cluster.credentials.remove_user(name):
                known = ", ".join(cluster.credentials.users()) or "nobody"
                raise UnknownThing("name", name, f"there is no user {name!r}, only {known}")

        self._with_cluster(remove)
