"""Stores the original settings of networks before any change, and the measurements of networks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, RowMapping, and_, delete, func, insert, select, update

from hpl.params import Scalar

from ..errors import ResultsError
from ..plain import time_text
from .database import Database
from .lease import Lease
from .schema import NETWORK_ORIGINALS, NETWORK_PROBES


@dataclass(frozen=True)
class NetworkOriginal:
    """A setting of a host as it was before hpltune changed it.

    Attributes:
        setting: its name with its family; those of networks have none.
        interface: "" for a setting of the whole host.
        ssh: the tokens that reach the host; empty for the owner's machine itself.
        study: the study that changed it, or None.
        owner: the process that changed it, as the text of a `Lease`.
        machine: which machine answered by the host's name, and `boot` since which start; "" where that is not known.
    """

    host: str
    interface: str
    setting: str
    value: str
    ssh: tuple[str, ...]
    study: str | None
    owner: str
    recorded_at: datetime
    machine: str = ""
    boot: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The identity of an original: host, interface, setting and machine."""
        return (self.host, self.interface, self.setting, self.machine)

    @property
    def busy(self) -> Lease | None:
        """The other living process that holds this change, or None."""
        lease = Lease.parse(self.owner)
        return lease if lease is not None and lease.alive else None


@dataclass(frozen=True)
class NetworkProbe:
    """A measurement of the connection between two hosts.

    Attributes:
        program: the program that measured, with its version.
        settings: the network settings during the measurement, by name.
        latency_us: half a round trip of the shortest message.
        bandwidth_mbit_s: rate of large messages, in 10^6 bits per second.
        points: pairs of a message's bytes and its one-way time in microseconds.
    """

    study: str | None
    measured_at: datetime
    program: str
    hosts: tuple[str, str]
    interface: str
    settings: Mapping[str, Scalar]
    latency_us: float
    bandwidth_mbit_s: float
    points: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class NetworkRecords:
    """The methods of a store for networks."""

    database: Database

    def remember(self, originals: Sequence[NetworkOriginal]) -> Sequence[NetworkOriginal]:
        """Commit originals before the first change; this process is their owner.

        Returns:
            The same, but with the older value where a killed process left one of that machine, or of an unknown one.

        Raises:
            ResultsError: another living process has changed one of them; then nothing is stored.
        """
        kept = []
        with self.database.writing() as connection:
            for original in originals:
                here = _at(*original.key) | _at(*original.key[:3], "")
                stored = select(NETWORK_ORIGINALS).where(here).order_by(NETWORK_ORIGINALS.c.machine.desc())
                row = connection.execute(stored).mappings().first()
                if row is None:
                    texts = {"ssh": json.dumps(original.ssh), "recorded_at": time_text(original.recorded_at)}
                    connection.execute(insert(NETWORK_ORIGINALS).values({**vars(original), **texts}))
                    kept.append(original)
                    continue
                older = _original_of(row)
                if older.busy:
                    what = "settings of {} are" if "." in older.setting else "network of {} is"
                    raise ResultsError(
                        f"the {what.format(older.host)} being tuned by process {older.busy.pid} on {older.busy.host}: "
                        "wait for it or end it there"
                    )
                connection.execute(update(NETWORK_ORIGINALS).where(_at(*older.key)).values(owner=original.owner))
                kept.append(older)
        return kept

    def forget(self, keys: Iterable[tuple[str, str, str, str]]) -> None:
        """Delete originals that are restored, by host, interface, setting and machine."""
        with self.database.writing() as connection:
            for key in keys:
                connection.execute(delete(NETWORK_ORIGINALS).where(_at(*key)))

    def originals(self) -> Sequence[NetworkOriginal]:
        """List the originals that are not restored, oldest first."""
        order = (NETWORK_ORIGINALS.c.recorded_at, NETWORK_ORIGINALS.c.host, NETWORK_ORIGINALS.c.setting)
        with self.database.reading() as connection:
            return [
                _original_of(row) for row in connection.execute(select(NETWORK_ORIGINALS).order_by(*order)).mappings()
            ]

    def add_probe(self, probe: NetworkProbe) -> int:
        """Store a measurement and return its number."""
        texts = {name: json.dumps(getattr(probe, name)) for name in ("hosts", "settings", "points")}
        row = {**vars(probe), **texts, "measured_at": time_text(probe.measured_at)}
        with self.database.writing() as connection:
            last = connection.execute(select(func.max(NETWORK_PROBES.c.number))).scalar()
            connection.execute(insert(NETWORK_PROBES).values(number=(last or 0) + 1, **row))
        return (last or 0) + 1

    def probes(self, study: str | None = None) -> Sequence[NetworkProbe]:
        """List the measurements of a study, or all of them; oldest first."""
        query = select(NETWORK_PROBES).order_by(NETWORK_PROBES.c.number)
        if study is not None:
            query = query.where(NETWORK_PROBES.c.study == study)
        with self.database.reading() as connection:
            return [
                NetworkProbe(
                    study=row["study"],
                    measured_at=datetime.fromisoformat(row["measured_at"]),
                    program=row["program"],
                    hosts=tuple(json.loads(row["hosts"])),
                    interface=row["interface"],
                    settings=json.loads(row["settings"]),
                    latency_us=row["latency_us"],
                    bandwidth_mbit_s=row["bandwidth_mbit_s"],
                    points=tuple((int(size), float(time_us)) for size, time_us in json.loads(row["points"])),
                )
                for row in connection.execute(query).mappings()
            ]


def _at(*key: str) -> ColumnElement[bool]:
    return and_(*(column == value for column, value in zip(NETWORK_ORIGINALS.primary_key, key, strict=True)))


def _original_of(row: RowMapping) -> NetworkOriginal:
    recorded_at = datetime.fromisoformat(row["recorded_at"])
    return NetworkOriginal(**{**row, "ssh": tuple(json.loads(row["ssh"])), "recorded_at": recorded_at})
