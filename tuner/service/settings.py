"""What a service is started with."""

from dataclasses import dataclass
from ipaddress import ip_address

from ..errors import UsageError
from ..user_dirs import UserDirs


@dataclass(frozen=True)
class ServiceSettings:
    """What a service is started with.

    Attributes:
        user_dirs: the folders of the user who started it.
        db: the database as the user named it; None for the user's own.
        host: name or address that it listens on; only this machine may reach it.
        port: 0 takes any free port.
    """

    user_dirs: UserDirs
    db: str | None
    host: str
    port: int

    def check(self) -> None:
        """Refuse an address that other machines can reach.

        Raises:
            UsageError: the host is not this machine's loopback.
        """
        if not is_loopback(self.host):
            raise UsageError(
                f"--host {self.host}: only this machine may reach the service, because it asks nobody who they are: "
                "that needs tokens, which hpltune does not have yet. "
                f"Leave --host out, and from another machine use `ssh -L {self.port}:localhost:{self.port} HOST`"
            )


def is_loopback(host: str) -> bool:
    """Whether a host of a URL is this machine itself."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
