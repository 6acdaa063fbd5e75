"""What the names in a document stand for."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ...asks.field import Scalar
from ...asks.texts import override_texts
from .offered import Offers
from .wrong import WrongDocumentError


class OfferedThings:
    """What names in a document stand for: what the service offers.

    Every method raises WrongDocumentError where it offers no such thing.
    """

    def __init__(self, offered: Offers) -> None:
        self.offered = offered
        self.space, self.cluster, self.program = offered.space, offered.cluster, offered.program

    def libraries(self, names: Sequence[str]) -> tuple[tuple[str, ...], Mapping[str, Path]]:
        """The names of BLAS libraries, and the files of those that are not in the catalogue."""
        files = {name: self.offered.library(name) for name in names}
        return tuple(files), {name: file for name, file in files.items() if file is not None}

    def source(self, name: str) -> str:
        """The name of a study."""
        return name


def check_set(given: Mapping[str, Scalar | Sequence[Scalar]], offered: Offers) -> None:
    """Check that values of parameters are given, and that those that reach MPI are allowed.

    Raises:
        WrongDocumentError: one is not allowed, or has no value.
    """
    for name, values in given.items():
        if not override_texts(values):
            raise WrongDocumentError(f"set.{name}", "give a value at least")
        if name.startswith("mpi.") and name.removeprefix("mpi.") not in offered.mpi_parameters:
            raise WrongDocumentError(
                f"set.{name}", "the service does not let documents set this MPI parameter: ask who runs it"
            )
