"""`hpltune dat`: a sensible HPL.dat without searching."""

from pathlib import Path
from typing import Annotated

import typer

from ..asks.shared import Libraries
from .common import LARGEST_INT, Force, errors, user_dirs
from .terminal import show_report


def dat(
    out: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="Where to; by default the terminal.")] = None,
    memory_fraction: Annotated[float, typer.Option(min=0.01, max=0.95, help="Part of the free memory to fill.")] = 0.8,
    n: Annotated[
        int | None, typer.Option("--N", "--n", min=1, max=LARGEST_INT, help="N, instead of one sized for the memory.")
    ] = None,
    nb: Annotated[
        int | None,
        typer.Option("--NB", "--nb", min=1, max=LARGEST_INT, help="NB, instead of the one natural for the BLAS."),
    ] = None,
    ranks: Annotated[int | None, typer.Option(min=1, max=LARGEST_INT, help="Ranks, instead of one per core.")] = None,
    blas: Libraries = (),
    force: Force = False,
) -> None:
    """Write a sensible HPL.dat for this machine without searching, and say why each value was taken.

    A file that is there already stays as it is, unless --force says otherwise.

    An N or ranks that this machine cannot run are written with a caution, since the file may be meant for another.

    Examples:

        hpltune dat > HPL.dat

        hpltune dat HPL.dat --memory-fraction 0.5 --ranks 4
    """
    from ..commands import dat as command
    from ..options import parse_blas
    from ..user_files import require_new

    if out is not None:
        require_new(out, force=force)
    names, files = parse_blas(blas)
    result = command.dat(command.DatRequest(memory_fraction, n, nb, ranks, names, files), user_dirs())
    show_report(errors(), result.report(), as_json=False)
    if out is None:
        print(result.text, end="")
        return
    result.write(out)
    errors().print(f"Wrote {out}; measure it with: hpltune run {out}", soft_wrap=True)
