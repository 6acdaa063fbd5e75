"""`hpltune import`: studies made of outputs that HPL printed without hpltune, or of another database."""

from pathlib import Path
from typing import Annotated

import typer

from ..asks.shared import Power, Price, Rpeak
from .common import Db, Json, console, open_store
from .terminal import show_report


def import_(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Folders or files with HPL's output, or another database.")
    ],
    study: Annotated[
        str | None,
        typer.Option("--study", metavar="NAME", help="Name of the study. Default: import-FOLDER-1, for each folder."),
    ] = None,
    blas: Annotated[
        str | None, typer.Option("--blas", metavar="NAME", help="The BLAS that HPL used, which it does not print.")
    ] = None,
    machine: Annotated[str | None, typer.Option("--machine", metavar="TEXT", help="What the machine is.")] = None,
    rpeak: Rpeak = None,
    price: Price = None,
    power: Power = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Make a study of outputs that HPL printed without hpltune, or copy the studies of another database.

    Each result becomes a trial; one without a residual that PASSED is stored, but not ranked. Each folder gets a
    study of its own, and no run is stored twice. An HPL.dat in the folder says what the outputs do
    not. From another database of hpltune each study is copied; a name that is taken gets a number.

    Examples:

        hpltune import results/

        hpltune import hpl.out slurm-4711.out --blas openblas --rpeak 134.4 --machine "2 x EPYC 9654"

        hpltune import laptop.db
    """
    from ..commands.stored.import_outputs import is_database
    from ..errors import UsageError

    databases = [path for path in paths if is_database(path)]
    given = {
        "--study": study, "--blas": blas, "--machine": machine, "--rpeak": rpeak, "--price": price, "--power": power
    }  # fmt: skip
    named = [option for option, value in given.items() if value is not None]
    if databases and (named or len(databases) < len(paths)):
        what = named[0] if named else next(str(path) for path in paths if path not in databases)
        raise UsageError(f"{what} is for outputs of HPL, but {databases[0]} is a database: import it alone")
    with open_store(db, create=True) as store:
        if databases:
            from ..commands.stored.import_outputs import import_database

            for path in databases:
                show_report(console(), import_database(store, path), as_json=as_json)
            return
        from ..commands.stored.import_outputs import UnprintedFacts, import_outputs

        facts = UnprintedFacts(machine or "", blas or "", rpeak, price, power)
        show_report(console(), import_outputs(store, paths, facts, study).report(), as_json=as_json)
