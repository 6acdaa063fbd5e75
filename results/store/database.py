"""The interface of a database for the store; `sqlite.py` and `postgresql.py` implement it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from ..errors import DatabaseAwayError, NoRoomError, ResultsError
from .lease import Lease


class Database(ABC):
    """A database to which the store connects.

    Attributes:
        place: its name in messages and after --db, never with a password.
        read_options: execution options of a transaction that only reads and sees one state of the database.
        lost_host: what to do if another host that works on a study has died; the end of that sentence.
    """

    read_options: ClassVar[Mapping[str, object]]
    lost_host: ClassVar[str] = ""

    def __init__(self, engine: Engine, place: str) -> None:
        self.engine = engine
        self.place = place

    @abstractmethod
    def check(self, *, create: bool) -> None:
        """Check that the database can hold studies, before anything is changed in it.

        Args:
            create: whether the database may be empty or missing.

        Raises:
            ResultsError: it cannot hold studies.
        """

    @abstractmethod
    def meaning(self, error: BaseException) -> str:
        """Explain an error of the driver and say what to do, without the database's name."""

    @abstractmethod
    def lacks_room(self, error: BaseException) -> bool:
        """Return whether an error of the driver is that nothing more can be written for want of space."""

    @abstractmethod
    def keep(self, schema: int) -> str:
        """Keep a copy of the database before its schema changes.

        Args:
            schema: the version of its schema.

        Returns:
            Where the copy is, or why there is none, as the end of a sentence.

        Raises:
            ResultsError: there is no copy, and so the schema must stay.
        """

    @abstractmethod
    def settle(self) -> None:
        """Finish opening the database once its tables exist."""

    @abstractmethod
    def version(self) -> str:
        """Return a text that is another one after anything was committed; it takes no time to ask for it.

        Raises:
            ResultsError: the database cannot be read.
        """

    def alive(self, _connection: Connection, lease: Lease) -> bool:
        """Return whether another process holds a lease and still runs."""
        return lease.alive

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Run the block in a transaction that only reads."""
        with self.in_sentences(), self.engine.connect() as connection:
            yield connection.execution_options(**self.read_options)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Run the block in a transaction that is on disk when the block ends, or undone if the block raises."""
        with self.in_sentences(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def alone(self) -> Iterator[Connection]:
        """Run the block as `writing` does, while no other process is in such a block."""
        with self.writing() as connection:
            yield connection

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        """Run the block as `alone` does, for a change of the schema."""
        with self.alone() as connection:
            yield connection

    @contextmanager
    def in_sentences(self) -> Iterator[None]:
        """Turn errors of the driver into a ResultsError with one sentence; its kind tells whether they may pass."""
        try:
            yield
        except (DBAPIError, self.engine.dialect.loaded_dbapi.Error) as error:
            cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
            passes = isinstance(cause, self.engine.dialect.loaded_dbapi.OperationalError)
            may_pass = NoRoomError if self.lacks_room(cause) else DatabaseAwayError
            kind = may_pass if passes else ResultsError
            raise kind(f"database {self.place}: {self.meaning(cause)}") from error
