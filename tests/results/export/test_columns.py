"""No face can forget a column: all are made from one table."""

import json
from dataclasses import fields

from record_builders import finished, to_csv

from results.columns import COLUMNS, FIELDS, TABLE
from results.export.frame import UNITS, frame
from results.export.json_lines import json_line
from results.record import TrialRecord
from results.store.schema import OUTPUTS, TRIALS


def test_every_field_of_a_record_has_a_column_or_several() -> None:
    assert {*FIELDS, "hpl", "observed"} == {field.name for field in fields(TrialRecord)}


def test_every_column_is_in_every_file_that_has_it() -> None:
    assert list(json.loads(json_line(finished(1)))) == list(TABLE)
    assert to_csv([finished(1)]).partition("\n")[0].split(",")[: len(COLUMNS)] == list(COLUMNS)
    assert list(frame([finished(1)], parameters=True))[: len(COLUMNS)] == list(COLUMNS)
    assert UNITS.items() >= {name: "GFLOPS" for name in COLUMNS if name.endswith("gflops")}.items()


def test_every_column_that_is_stored_has_its_place() -> None:
    homes = {"trial": {*TRIALS.c.keys()}, "observed": {*TRIALS.c.keys()}, "HPL.dat": {*TRIALS.c.keys(), "grid"}}
    assert [name for name, column in TABLE.items() if name not in homes.get(column.home, {*TABLE})] == []
    assert len(OUTPUTS.c) == 2 + sum(column.home == "printed" for column in TABLE.values())
