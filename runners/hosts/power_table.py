"""The table [power] of a cluster file: who tells the power of its nodes, and with which account.

Passwords are in files of their own, so that neither a database nor a page ever has one.
"""

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from ..toml_file import Part, matching

LONGEST_COMMAND = 1000


Address = Annotated[
    str, matching(r"[A-Za-z0-9.:\[\]_-]{1,255}", "the name or address of a node's controller, as 10.0.0.1")
]
Url = Annotated[
    str,
    matching(r"https?://[A-Za-z0-9.\[\]:_-]{1,255}/?", "the address of a node's controller, as https://10.0.0.1"),
    AfterValidator(lambda url: url.rstrip("/")),
]
User = Annotated[str, matching(r"[\w.@+-]{1,64}", "the name of an account, of at most 64 signs")]


class Account(Part):
    """An account on controllers of nodes.

    Attributes:
        user: "" for none.
        password_file: the file whose first line is its password; only its owner may read it.
    """

    user: User | None = None
    password_file: str = ""

    @model_validator(mode="before")
    @classmethod
    def _no_password(cls, table: Any) -> Any:
        if isinstance(table, Mapping) and "password" in table:
            raise ValueError(
                "a password does not belong into this file: write it into a file that only you can read, and "
                "password_file = its path"
            )
        return table

    @model_validator(mode="after")
    def _both(self) -> Self:
        if bool(self.user) != bool(self.password_file):
            raise ValueError("user and password_file belong together")
        return self

    @property
    def secret(self) -> Path | None:
        """The file of the password; None for no account.

        Raises:
            OSError: it is not there, or others may read it.
        """
        if not self.password_file:
            return None
        file = Path(self.password_file).expanduser()
        if stat.S_IMODE(file.stat().st_mode) & 0o077:
            raise PermissionError(0, f"others may read it: `chmod 600 {file}`", str(file))
        return file

    @property
    def password(self) -> str:
        """The password; "" for no account.

        Raises:
            OSError: as `secret`; or it cannot be read.
        """
        file = self.secret
        return file.read_text(encoding="utf-8").partition("\n")[0] if file else ""


class IpmiTable(Account):
    """Controllers that speak IPMI over the network.

    Attributes:
        addresses: by host.
        interface: of ipmitool.
    """

    addresses: Annotated[Mapping[str, Address], Field(min_length=1)]
    interface: Annotated[str, matching(r"lanplus|lan", "lanplus or lan")] = "lanplus"


class RedfishTable(Account):
    """Controllers that speak Redfish.

    Attributes:
        addresses: by host, as https://10.0.0.1.
        verify: whether their certificates are checked; `certificate` is a file of those that are trusted.
    """

    addresses: Annotated[Mapping[str, Url], Field(min_length=1)]
    verify: bool = True
    certificate: str = ""


class PowerTable(Part):
    """Who tells the power of a cluster's nodes.

    Attributes:
        command: a program with its arguments that prints the watts of all nodes; "" for none.
    """

    command: Annotated[str, Field(max_length=LONGEST_COMMAND)] = ""
    ipmi: IpmiTable | None = None
    redfish: RedfishTable | None = None

    @property
    def hosts(self) -> Mapping[str, frozenset[str]]:
        """The hosts whose controllers each table names."""
        return {
            name: frozenset(table.addresses)
            for name, table in {"ipmi": self.ipmi, "redfish": self.redfish}.items()
            if table
        }
