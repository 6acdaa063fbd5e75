"""The file of `hpltune serve --config`: TOML, with one model for each table."""

import ipaddress
import pwd
import ssl
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from results.store.service.campaign_entry import EndEvent
from results.store.store import Store
from runners.toml_file import ClusterFileError, Part, matching, parse_table, read_text, validated

from ..errors import TunerError, UsageError
from ..user_dirs import UserDirs
from .peers import UidOf, peer_uid

MOST_URLS, LONGEST_URL = 20, 2000
"""Addresses of notifications, and characters of each."""


class NotifyTable(Part):
    """The table [notify]: who is told how campaigns ended.

    Attributes:
        urls_file: holds one address as Apprise writes them in each line; these hold secrets.
        events: what is told.
    """

    urls_file: Path
    events: tuple[EndEvent, ...] = Field(default=("done", "failed", "slower"), min_length=1)

    def wants(self, event: EndEvent) -> bool:
        """Whether an end is told; a check that found its machine slower is done, too."""
        return event in self.events or (event == "slower" and "done" in self.events)

    def urls(self) -> Sequence[str]:
        """Read the addresses.

        Raises:
            ClusterFileError: the file cannot be read, everybody may read it, or it holds none or too many.
        """
        try:
            if self.urls_file.stat().st_mode & stat.S_IROTH:
                raise ClusterFileError(f"everybody on this machine can read {self.urls_file}: `chmod 600` it")
            lines = self.urls_file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeError) as error:
            said = getattr(error, "strerror", None) or "it is no text"
            raise ClusterFileError(f"cannot read {self.urls_file}: {said}") from error
        found = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
        if not 1 <= len(found) <= MOST_URLS:
            raise ClusterFileError(f"{self.urls_file} has {len(found)} addresses: write 1 to {MOST_URLS}, one a line")
        for number, url in enumerate(found, start=1):
            if len(url) > LONGEST_URL or not url.isprintable():
                raise ClusterFileError(
                    f"address {number} of {self.urls_file} has more than {LONGEST_URL} characters, or some that "
                    "cannot be printed"
                )
        return found


HEADER = r"[A-Za-z0-9-]+"
"""Names of HTTP headers that a proxy may use."""
LOOPBACKS = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))


def is_loopback(host: str) -> bool:
    """Whether a host of a URL is this machine itself."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _network(text: str) -> str:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        raise ValueError("expected an address or a network, as 192.168.1.7 or 10.0.0.0/8") from None
    return text


def _is_here(text: str) -> bool:
    """Whether a network has addresses of this machine alone."""
    network = ipaddress.ip_network(text)
    return any(network.version == one.version and network.overlaps(one) for one in LOOPBACKS)


def _local_user(text: str) -> str:
    try:
        pwd.getpwnam(text)
    except KeyError:
        raise ValueError(f"there is no user {text} on this machine") from None
    return text


def _public_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("expected where people open the service, as https://tuner.example.org")
    return text.rstrip("/")


LocalUser = Annotated[str, AfterValidator(_local_user)]
Network = Annotated[str, AfterValidator(_network)]
Header = Annotated[str, matching(HEADER, "the name of an HTTP header, as X-Forwarded-User")]
OfferedName = Annotated[str, matching(r"\w[\w.+-]*", "letters, digits and _ . + -")]
HostName = Annotated[str, matching(r"[A-Za-z0-9.-]+", "a name of a host without scheme and port, as tuner.example.org")]


class ListenTable(Part):
    """The table [listen]: where the service answers.

    Attributes:
        host: name or address to listen on.
        port: 0 takes any free port.
        names: further names of the service in URLs; it answers under no other.
        public_url: where people open the service in a browser, for links in messages; None writes no links.
        certificate, key: PEM files for TLS; None serves plain HTTP.
    """

    host: str = Field(default="127.0.0.1", min_length=1)
    port: int = Field(default=8475, ge=0, le=65535)
    names: tuple[HostName, ...] = ()
    public_url: Annotated[str, AfterValidator(_public_url)] | None = None
    certificate: Path | None = None
    key: Path | None = None

    @model_validator(mode="after")
    def _both(self) -> Self:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("TLS needs both certificate and key")
        return self


class ProxyTable(Part):
    """The table [proxy]: a proxy that has asked users who they are, and says so in headers.

    Attributes:
        trusted: addresses or networks of proxies; headers of others are not believed.
        user: as whom a proxy on this machine runs; of the programs here only this user's and root's are believed.
        user_header: holds the name of the user.
        groups_header: holds the user's groups, separated by commas.
        scopes: the groups whose users have a scope; "*" means every user.
    """

    trusted: tuple[Network, ...] = Field(min_length=1)
    user: LocalUser | None = None
    user_header: Header = "X-Forwarded-User"
    groups_header: Header = "X-Forwarded-Groups"
    scopes: Mapping[Literal["read", "run", "admin"], tuple[str, ...]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_user_here(self) -> Self:
        here = [one for one in self.trusted if _is_here(one)]
        if here and self.user is None:
            raise ValueError(
                f"trusted has {here[0]}, this machine, whose every user could say who he is: "
                'write in user as whom the proxy runs, for example "www-data"'
            )
        return self


class LimitsTable(Part):
    """The table [limits]: what one caller may ask of the service.

    Attributes:
        requests_per_minute: of one caller, on the long run.
        body_bytes: of one request.
        watchers: live views at the same time, of all callers.
        waiting_of_one: campaigns that may wait for one caller.
        most_budget: hours by the clock that a campaign may ask for, and run at a time.
    """

    requests_per_minute: int = Field(default=1200, ge=1, le=10**6)
    body_bytes: int = Field(default=1_000_000, ge=1000, le=10**9)
    watchers: int = Field(default=500, ge=1, le=10**4)
    waiting_of_one: int = Field(default=200, ge=1, le=10**5)
    most_budget: float = Field(default=720.0, gt=0.0, le=10**5)


class OffersTable(Part):
    """The table [offers]: what people may name when they hand in a campaign, besides what comes with hpltune.

    Attributes:
        spaces, clusters, programs, libraries: files by the names that people use.
        parameters: those beside HPL's own that people may set, as env.OMP_PLACES, sys.omp_wait or mpi.btl.
        mpi_parameters: MPI parameters, without "mpi.", that people may set.
    """

    spaces: Mapping[OfferedName, Path] = Field(default_factory=dict)
    clusters: Mapping[OfferedName, Path] = Field(default_factory=dict)
    programs: Mapping[OfferedName, Path] = Field(default_factory=dict)
    libraries: Mapping[OfferedName, Path] = Field(default_factory=dict)
    parameters: tuple[str, ...] = ()
    mpi_parameters: tuple[str, ...] = ()

    def anchored(self, folder: Path) -> Self:
        """Return the same with files relative to a folder; each must be there.

        Raises:
            ClusterFileError: one is not.
        """
        tables = ("spaces", "clusters", "programs", "libraries")
        found = {name: {key: folder / file for key, file in getattr(self, name).items()} for name in tables}
        for name, files in found.items():
            for key, file in files.items():
                if not file.is_file():
                    raise ClusterFileError(f"offers.{name}.{key}: there is no file {file}")
        return self.model_copy(update=found)


class ServiceConfig(Part):
    """The whole file.

    Attributes:
        proxy: None where the service has no proxy that tells users.
        notify: None where nobody is told how campaigns ended.
    """

    listen: ListenTable = ListenTable()
    proxy: ProxyTable | None = None
    limits: LimitsTable = LimitsTable()
    offers: OffersTable = OffersTable()
    notify: NotifyTable | None = None

    def listening_at(self, host: str | None, port: int | None) -> Self:
        """Return the same with another host and port, where they are not None."""
        given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
        return self.model_copy(update={"listen": self.listen.model_copy(update=given)})


def read_config(file: Path) -> ServiceConfig:
    """Read a file; its paths are relative to its folder.

    Raises:
        ClusterFileError: the file cannot be read, or a key or value in it is wrong.
    """
    text = read_text(file)
    table = parse_table(str(file), text)
    if "webhooks" in table:
        raise ClusterFileError(f"{file}: webhooks is not known any more: [notify] takes its place")
    config = validated(ServiceConfig, str(file), table, text)
    folder, notify = file.parent.absolute(), config.notify
    if notify is not None:
        notify = notify.model_copy(update={"urls_file": folder / notify.urls_file})
    try:
        config = config.model_copy(update={"offers": config.offers.anchored(folder), "notify": notify})
    except ClusterFileError as error:
        raise ClusterFileError(f"{file}: {error}") from error
    listen = config.listen
    if listen.certificate is None or listen.key is None:
        return config
    anchored = {"certificate": file.parent / listen.certificate, "key": file.parent / listen.key}
    return config.model_copy(update={"listen": listen.model_copy(update=anchored)})


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
                "with `hpltune token create NAME ⟦scope⟧ admin`, or name a proxy in ⟦config⟧. Or leave ⟦host⟧ "
                f"out, and from another machine use `ssh -L {listen.port}:localhost:{listen.port} HOST`",
                field="host",
                given=listen.host,
            )
        if proxy is None and listen.certificate is None and not self.insecure_http:
            raise UsageError(
                "tokens would cross the network in plain text: give certificate and key in [listen] of ⟦config⟧, "
                "or name a proxy there; ⟦insecure_http⟧ takes a network where nobody listens",
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
