"""What a service is started with."""

from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from ..errors import UsageError
from ..user_dirs import UserDirs
from .config import ServiceConfig


@dataclass(frozen=True)
class ServiceSettings:
    """What a service is started with.

    Attributes:
        user_dirs: the folders of the user who started it.
        db: the database as the user named it; None for the user's own.
        config: what its file says, with the options of the command line in place.
        config_file: where that is read from, which the processes of campaigns do too; None where there is no file.
        starts_campaigns: whether it starts campaigns that are handed in; else another service must.
    """

    user_dirs: UserDirs
    db: str | None
    config: ServiceConfig = field(default_factory=ServiceConfig)
    config_file: Path | None = None
    starts_campaigns: bool = True

    def check(self) -> None:
        """Refuse an address that other machines can reach.

        Raises:
            UsageError: the host is not this machine's loopback.
        """
        listen = self.config.listen
        if not is_loopback(listen.host):
            raise UsageError(
                f"--host {listen.host}: only this machine may reach the service, because it asks nobody who they are: "
                "that needs tokens, which hpltune does not have yet. "
                f"Leave --host out, and from another machine use `ssh -L {listen.port}:localhost:{listen.port} HOST`"
            )


def is_loopback(host: str) -> bool:
    """Whether a host of a URL is this machine itself."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
