"""Names and addresses under which a service answers."""

import socket
from ipaddress import ip_address
from urllib.parse import urlsplit

from .config import ListenTable


def is_loopback(host: str) -> bool:
    """Whether a host of a URL is this machine itself."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def host_of(url: str) -> str:
    """The host of a URL in small letters; "" where it has none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


class OwnNames:
    """The names under which a service answers.

    On loopback these are this machine's, because a page of the web could have its own name point here; beyond loopback
    also the machine's name, and any address, which no other page can have for a name.
    """

    def __init__(self, listen: ListenTable) -> None:
        self._beyond = not is_loopback(listen.host)
        self._names = {name.lower() for name in listen.names}
        if self._beyond:
            self._names |= {listen.host.lower(), socket.gethostname().lower(), socket.getfqdn().lower()}

    @property
    def sentence(self) -> str:
        """What is said to those who use another name."""
        if self._beyond:
            return "The service does not answer under this name: `names` in [listen] of its file lists further ones."
        return "The service answers only under a name of this machine, such as localhost."

    def __contains__(self, host: str) -> bool:
        return is_loopback(host) or host in self._names or (self._beyond and _is_address(host))


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
