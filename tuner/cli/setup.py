"""`hpltune setup`: install what is missing."""

from typing import Annotated

import typer

from .common import Json, console, errors, places


def setup(
    with_: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="NAME", help="Also mkl, openblas-pypi or simgrid. Repeatable."),
    ] = None,
    private: Annotated[
        bool, typer.Option("--private", help="Use only the private prefix, as without root, even as root.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be installed.")] = False,
    as_json: Json = False,
) -> None:
    """Install what is missing: compiler, MPI, BLAS libraries and HPL's source. `tune` does this by itself.

    As root through apt-get; otherwise from PyPI and unpacked packages into a private prefix below the cache directory.

    Examples:

        hpltune setup --dry-run

        hpltune setup --yes --with mkl

        hpltune setup --yes --with simgrid
    """
    from ..provision.setup import SetupRequest, run_setup

    request = SetupRequest(with_ or [], private, yes, dry_run, as_json)
    raise typer.Exit(run_setup(request, places(), errors() if as_json else console()))
