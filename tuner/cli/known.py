"""`hpltune known`: published HPL results of other people's machines."""

from typing import Annotated

import typer

from .common import Json, console
from .terminal import show_report


def _complete(incomplete: str) -> list[str]:
    """Words of published results, for tab completion."""
    from ..commands.known import known_words

    return known_words(incomplete)


def _complete_order(incomplete: str) -> list[str]:
    """What results are sorted by, for tab completion."""
    from ..commands.known import ORDERS

    return [name for name in ORDERS if name.startswith(incomplete)]


def known(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WORDS]", autocompletion=_complete, help="Words of the machine, CPU or note; none lists all."
        ),
    ] = None,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="ORDER",
            autocompletion=_complete_order,
            help="Sort by machine, cpu, cores, gflops, percent-of-peak or mflops-per-watt.",
        ),
    ] = "machine",
    as_json: Json = False,
) -> None:
    """List published HPL results of CPUs, boards and clusters, with their sources.

    `best`, `tune` and `report` compare a study with those of the same CPU.

    Examples:

        hpltune known

        hpltune known epyc 7763

        hpltune known raspberry --by percent-of-peak

        hpltune known cluster --by mflops-per-watt --json
    """
    from ..commands.known import list_known

    show_report(console(), list_known(words or (), by), as_json=as_json)
