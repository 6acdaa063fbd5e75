"""`hpltune calibrate`: this machine as a virtual cluster."""

from pathlib import Path
from typing import Annotated

import typer

from .common import BlasFiles, Json, Source


def calibrate(
    out: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="Where the cluster file goes; by default the terminal.")
    ] = None,
    checks: Annotated[int, typer.Option(min=0, help="HPL configurations to check the model against.")] = 12,
    rounds: Annotated[int, typer.Option(min=1, help="How often everything is measured, in turn.")] = 3,
    blas: BlasFiles = None,
    hpl_source: Source = None,
    as_json: Json = False,
) -> None:
    """Measure this machine's routines and messages, write them as a virtual cluster, and say how well it predicts HPL.

    dgemm and dtrsm are timed at HPL's shapes on all cores at once, messages by ping-pong. The HPL runs it is checked
    against take part in no fit. About a minute a round.

    Examples:

        hpltune calibrate mine.toml

        hpltune calibrate mine.toml --blas openblas --blas blis --rounds 5
    """
    from ..options import TuneOptions, parse_blas
    from ..virtual.calibrate_command import CalibrateRequest, run_calibrate

    names, files = parse_blas(blas or [])
    options = TuneOptions(blas_only=names, blas_files=files, hpl_source=hpl_source)
    raise typer.Exit(run_calibrate(CalibrateRequest(out, options, checks, rounds, as_json)))
