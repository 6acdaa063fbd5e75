"""No face can forget a column: all are made from one table."""

from dataclasses import fields

from results.columns import FIELDS, TABLE
from results.record import TrialRecord
from results.store.schema import OUTPUTS, TRIALS


def test_every_field_of_a_record_has_a_column_or_several() -> None:
    assert {*FIELDS, "hpl", "observed"} == {field.name for field in fields(TrialRecord)}


def test_every_column_that_is_stored_has_its_place() -> None:
    homes = {"trial": {*TRIALS.c.keys()}, "observed": {*TRIALS.c.keys()}, "HPL.dat": {*TRIALS.c.keys(), "grid"}}
    assert [name for name, column in TABLE.items() if name not in homes.get(column.home, {*TABLE})] == []
    assert len(OUTPUTS.c) == 2 + sum(column.home == "printed" for column in TABLE.values())
