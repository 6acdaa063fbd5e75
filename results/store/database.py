"""What the store wants of a database; its kinds are in `sqlite.py` and `postgresql.py`."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from ..errors import ResultsError
from .lease import Lease


class Database(ABC):
    """A database that can be connected to.

    Attributes:
        place: what it is called in messages and after --db; never holds a password.
        read_options: execution options of a transaction that only reads, and sees one state of the database.
        lost_host: ends the sentence about a study that is busy on another host: what to do if that host died.
    """

    read_options: ClassVar[Mapping[str, object]]
    lost_host: ClassVar[str] = ""

    def __init__(self, engine: Engine, place: str) -> None:
        self.engine = engine
        self.place = place

    @abstractmethod
    def check(self, *, create: bool) -> None:
        """Make sure that it can hold studies, before anything is changed in it.

        Args:
            create: whether it may be empty or missing.

        Raises:
            ResultsError: it cannot.
        """

    @abstractmethod
    def meaning(self, error: BaseException) -> str:
        """What an error of the driver means to the user and what to do, without the place."""

    @abstractmethod
    def settle(self) -> None:
        """Do what is left of opening once its tables are there."""

    def alive(self, _connection: Connection, lease: Lease) -> bool:
        """Whether another process than this one holds a lease and still runs."""
        return lease.alive

    def close(self) -> None:
        """Give all connections back."""
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads."""
        with self.in_sentences(), self.engine.connect() as connection:
            yield connection.execution_options(**self.read_options)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is on disk when the block ends, and is undone where it raises."""
        with self.in_sentences(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        """As `writing`; no other process migrates at the same time."""
        with self.writing() as connection:
            yield connection

    @contextmanager
    def in_sentences(self) -> Iterator[None]:
        """Turn what the driver raises into one sentence."""
        try:
            yield
        except (DBAPIError, self.engine.dialect.loaded_dbapi.Error) as error:
            cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
            raise ResultsError(f"database {self.place}: {self.meaning(cause)}") from error
