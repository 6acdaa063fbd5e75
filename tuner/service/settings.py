"""What a service is started with."""

import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from results.store.store import Store

from ..errors import TunerError, UsageError
from ..user_dirs import UserDirs
from .config import ServiceConfig, is_loopback
from .peers import UidOf, peer_uid

LogKind = Literal["plain", "json"]


@dataclass(frozen=True)
class ServiceSettings:
    """What a service is started with.

    Attributes:
        user_dirs: the folders of the user who started it.
        db: the database as the user named it; None for the user's own.
        config: what its file says, with the options of the command line in place.
        config_file: where that is read from, which the processes of campaigns do too; None where there is no file.
        starts_campaigns: whether it starts campaigns that are handed in; else another service must.
        insecure_http: tokens may cross the network in plain text.
        log: how log lines are written.
        uid_of: tells whose process on this machine has the other end of a connection.
    """

    user_dirs: UserDirs
    db: str | None
    config: ServiceConfig = field(default_factory=ServiceConfig)
    config_file: Path | None = None
    starts_campaigns: bool = True
    insecure_http: bool = False
    log: LogKind = "plain"
    uid_of: UidOf = peer_uid

    def check(self, store: Store) -> None:
        """Refuse to be reached from other machines by anybody, or in a way that others can listen to.

        Raises:
            UsageError: that is so; the sentence says what to do.
            TunerError: the files for TLS cannot be used.
        """
        listen, proxy = self.config.listen, self.config.proxy
        if listen.certificate is not None and listen.key is not None:
            check_tls(listen.certificate, listen.key)
        if is_loopback(listen.host):
            return
        if proxy is None and not store.tokens.exist():
            raise UsageError(
                "other machines reach this address, and the service could not tell who asks: make a token first "
                "with `hpltune token create NAME «scope» admin`, or name a proxy in «config». Or leave «host» "
                f"out, and from another machine use `ssh -L {listen.port}:localhost:{listen.port} HOST`",
                field="host",
                given=listen.host,
            )
        if proxy is None and listen.certificate is None and not self.insecure_http:
            raise UsageError(
                "tokens would cross the network in plain text: give certificate and key in [listen] of «config», "
                "or name a proxy there; «insecure_http» takes a network where nobody listens",
                field="host",
                given=listen.host,
            )

    @property
    def only_by_proxy(self) -> bool:
        """Whether other machines come only through the proxy, because what they send directly can be read by others."""
        listen = self.config.listen
        return not is_loopback(listen.host) and listen.certificate is None and not self.insecure_http


def check_tls(certificate: Path, key: Path) -> None:
    """Refuse files that TLS cannot use.

    Raises:
        TunerError: one cannot be read, or they do not belong together.
    """
    for name, file in (("certificate", certificate), ("key", key)):
        try:
            file.read_bytes()
        except OSError as error:
            raise TunerError(f"listen.{name} = {file}: cannot be read ({error.strerror})") from error
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except ssl.SSLError as error:
        raise TunerError(f"listen.certificate = {certificate}, listen.key = {key}: {_why(error)}") from error


def _why(error: ssl.SSLError) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return "the key is another certificate's"
    if error.reason in {"BAD_DECRYPT", "BAD_PASSWORD_READ", "EMPTY_PASSWORD"}:
        return "the key has a password: a service needs one without"
    return "these are no certificate and key in PEM"
