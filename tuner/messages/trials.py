"""What the API answers of trials, with units in the names."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, Field, create_model

from hpl.params import Scalar
from results.columns import HINTS, PUBLIC, values_of
from results.record import BlasObservation, Kind, TrialRecord, TrialState

from ..reports.figures.phases import phases_s
from ..reports.ranks_got import ranks_got


class TrialMessage(BaseModel, json_schema_serialization_defaults_required=True):
    """What is told of a trial: the public columns of `results.columns`; static types know only those that are here.

    A service tells all of them. An earlier one may lack any but those that are here, and a client reads null for it.
    """

    number: int
    kind: Kind
    state: TrialState
    params: dict[str, Scalar]

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


Message = TypeVar("Message", bound=TrialMessage)


def with_columns(model: type[Message]) -> type[Message]:
    """Add a field for each public column that a model does not declare."""
    added: dict[str, Any] = {
        name: (HINTS[name] | None, Field(None, description=column.about or None))
        for name, column in PUBLIC.items()
        if name not in model.model_fields
    }
    return create_model(model.__name__, __base__=model, __doc__=model.__doc__, __module__=model.__module__, **added)


@with_columns
class TrialModel(TrialMessage):
    """A trial: one evaluation of one configuration."""

    @classmethod
    def of(cls, record: TrialRecord) -> "TrialModel":
        """Tell of a stored trial."""
        return cls.model_validate(values_of(record, PUBLIC))


class TrialPage(BaseModel):
    """Trials in the order of their begin."""

    trials: list[TrialModel]
    next_cursor: str | None = Field(description="the page of later ones begins here; null where there are none yet")


class WholeTrialModel(TrialModel):
    """A trial in full; what HPL printed is at `output.txt`."""

    hpl: dict[str, Scalar] | None = Field(description="the parameters of its HPL.dat; null where not all are known")
    phases_s: dict[str, float] = Field(description="of the rank that took longest, by HPL's own name of the phase")
    observed: BlasObservation | None = Field(
        description="what really ran, as the ranks reported it: the file of the BLAS without its folder"
    )
    reached: dict[str, Any] = Field(
        default={},
        description="what each rank told when it began, and what of it was not as planned; {} where none did",
    )

    @classmethod
    def of(cls, record: TrialRecord) -> "WholeTrialModel":
        """Tell of a stored trial with its output."""
        seen, hpl = record.observed, record.hpl
        return cls.model_validate(
            {
                **values_of(record, PUBLIC),
                "hpl": None if hpl is None else hpl.words(),
                "phases_s": phases_s(record),
                "observed": None if seen is None else replace(seen, library=Path(seen.library).name),
                "reached": ranks_got(record),
            }
        )
