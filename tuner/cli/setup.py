"""`hpltune setup`: install what is missing."""

from typing import Annotated

import typer

from .common import Json, console, require_agreement, user_dirs
from .terminal import show_report


def setup(
    with_: Annotated[
        list[str] | None,
        typer.Option(
            "--with", metavar="NAME", help="Also mkl, openblas-pypi, intelmpi, nvblas or simgrid. Repeatable."
        ),
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

        hpltune setup --yes --with intelmpi

        hpltune setup --yes --with simgrid
    """
    from ..commands.hosts import setup as command
    from ..console import display

    out = console(stderr=as_json)
    planned = command.plan_setup(user_dirs(), with_ or [], private=private)
    show_report(out, planned.report(), as_json=False)
    if dry_run:
        if as_json:
            show_report(out, planned.report(), as_json=True)
        return
    require_agreement(out, "Install these?", "Nothing was installed.", yes=yes or not planned.plan)
    with display(out) as listener:
        result = command.setup(planned, listener)
    show_report(out, result.report(), as_json=False)
    if as_json:
        show_report(out, result.report(), as_json=True)
    raise typer.Exit(0 if result.complete else 1)
