"""Writes a study as a file that is no text: a Parquet table for data frames."""

import importlib.util
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..errors import ResultsError
from ..flat import TrialPlace
from ..record import Study, TrialRecord

UNITS = {"gflops": "GFLOPS", "expected_gflops": "GFLOPS", "time_s": "s", "cost_s": "s", "percent_of_peak": "%"}
"""Units of the columns of a Parquet file, kept with each column."""
FIGURES = ("engine", "space_name", "rpeak_gflops", "price_usd", "power_w")
"""What a file keeps of its study besides its name, machine and versions."""


def write_parquet(path: Path, study: Study, records: Iterable[TrialRecord], placed: Mapping[int, TrialPlace]) -> None:
    """Write a row for each trial, with the columns of a CSV, their types, and the facts of the study as metadata.

    Raises:
        ResultsError: pyarrow is not installed.
    """
    if importlib.util.find_spec("pyarrow") is None:
        raise ResultsError("export parquet needs pyarrow, which is not installed: take csv, or install pyarrow")
    import pyarrow as pa  # noqa: PLC0415 - slow to import
    import pyarrow.parquet as pq  # noqa: PLC0415

    from .frame import frame  # noqa: PLC0415

    table = pa.Table.from_pandas(frame(records, placed, parameters=True), preserve_index=False)
    fields = [
        field.with_metadata({"unit": UNITS[field.name]}) if field.name in UNITS else field for field in table.schema
    ]
    figures = {name: getattr(study, name) for name in FIGURES}
    facts = {"name": study.name, "host": dict(study.host), "versions": dict(study.versions), **figures}
    metadata = {**(table.schema.metadata or {}), b"hpltune.study": json.dumps(facts).encode()}
    pq.write_table(table.cast(pa.schema(fields, metadata)), path, compression="zstd")
