"""`hpltune export`: a study for other programs."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .common import LARGEST_INT, Db, Force, Newest, StudyName, named_trial, open_store
from .server import asked_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from results.store.store import Store


class Format(StrEnum):
    """What a study can be written as."""

    CSV = "csv"
    JSONL = "jsonl"
    DAT = "dat"
    MARKDOWN = "md"
    PARQUET = "parquet"
    SHEET = "sheet"


def export(
    context: typer.Context,
    format_: Annotated[
        Format,
        typer.Argument(metavar="FORMAT", help="csv, jsonl, md (Markdown), dat (HPL.dat), parquet or sheet."),
    ],
    study: Newest = None,
    trial: Annotated[
        int | None,
        typer.Option(min=1, max=LARGEST_INT, help="The trial whose HPL.dat is written, with dat. Default: the best."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="File to write. Default: the terminal.")
    ] = None,
    named: StudyName = None,
    db: Db = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the fields of a sheet as JSON for scripts.")] = False,
    force: Force = False,
) -> None:
    """Write a study as CSV, JSON lines, Markdown or Parquet, or a trial's HPL.dat.

    `sheet` has the fields that the TOP500 and the Green500 ask for, and says what their rules would not accept.

    Examples:

        hpltune export csv -o study.csv

        hpltune export dat > HPL.dat

        hpltune export dat default-1#7 > trial-7.dat

        hpltune export md default-1

        hpltune export parquet -o study.parquet

        hpltune export sheet -o submission.md
    """
    from ..commands.stored.export import export_study
    from ..errors import UsageError
    from ..user_files import require_new

    study, trial = named_trial(study or named, trial)
    if out is not None and format_ is Format.DAT:
        require_new(out, force=force)
    if trial is not None and format_ is not Format.DAT:
        raise UsageError(f"trial {trial} alone is for `export dat`: {format_} has all trials of a study")
    if as_json and format_ is not Format.SHEET:
        raise UsageError(f"--json is for `export sheet`: {format_} is for programs already")
    there = asked_server(context, {"db", "as_json"})
    if there is not None:
        from .served import export_there

        export_there(there, str(format_), study, trial, out)
        return
    if format_ is Format.PARQUET:
        _export_parquet(study, out, db)
        return
    with open_store(db, create=False) as store:
        if format_ is Format.SHEET:
            parts = _sheet(store, study, as_json=as_json)
        else:
            parts = export_study(store, str(format_), study, trial)
        if out is None:
            for part in parts:
                typer.echo(part, nl=False)
            return
        from ..user_files import write_parts

        new = "" if out.parent.exists() else f" into a new folder, {out.parent}"
        write_parts(out, parts)
    typer.echo(f"wrote {out}{new}")


def _sheet(store: "Store", study: str | None, *, as_json: bool) -> "Iterator[str]":
    """The sheet of a study as Markdown or JSON."""
    from results.report.text_forms import to_json, to_markdown

    from ..commands.stored.export import submission_sheet
    from ..words import all_with_options

    report = all_with_options(submission_sheet(store, study))
    return iter([to_json(report) + "\n" if as_json else to_markdown(report)])


def _export_parquet(study: str | None, out: Path | None, db: str | None) -> None:
    """Write a study as a Parquet file, or to standard output where that is redirected."""
    from ..commands.stored.export import parquet
    from ..errors import UsageError
    from ..user_files import write_byte_parts

    if out is None and sys.stdout.isatty():
        raise UsageError(
            "parquet is no text for a terminal: name a file, hpltune export parquet -o FILE, or redirect it"
        )
    with open_store(db, create=False) as store:
        content = parquet(store, study)
    if out is None:
        sys.stdout.buffer.write(content)
        return
    write_byte_parts(out, [content])
    typer.echo(f"wrote {out}")
