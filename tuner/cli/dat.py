"""`hpltune dat`: a sensible HPL.dat without searching."""

from pathlib import Path
from typing import Annotated

import typer

from ..asks.dat import ANOTHER, DatAsk
from .common import Force, Json, console, user_dirs
from .terminal import show_report


def dat(
    ask: DatAsk,
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="Where to; by default the terminal.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="The same as FILE.")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a sensible HPL.dat without searching, and say why each value was taken.

    Without a machine in the options it is for this one, whose BLAS libraries are timed shortly. With --cores and
    --memory it is for nodes of any other machine: nothing is measured, and that machine need not exist.

    Without FILE the HPL.dat is printed. A file that is there already stays as it is, unless --force says otherwise.

    An N or ranks that this machine cannot run are written with a caution, since the file may be meant for another. An
    N that a machine of the options cannot hold is refused.

    Examples:

        hpltune dat > HPL.dat

        hpltune dat HPL.dat --memory-fraction 0.5 --ranks 4

        hpltune dat --nodes 16 --cores 64 --memory 256GiB --network 100g -o HPL.dat

        hpltune dat --nodes 4 --cores 4 --memory 8GiB --network 1g --cpu "Raspberry Pi 4" --ghz 1.8

        hpltune dat --cpu list
    """
    from results.report.terminal import say

    from ..commands.cpu_names import known_cpus
    from ..commands.dat import dat as dat_here
    from ..commands.described_dat import described_dat
    from ..errors import UsageError
    from ..user_files import require_folder, require_new

    if file is not None and out is not None:
        raise UsageError(f"the file is {file} already: give it once", field="out", given=str(out))
    if ask.cpu == "list":
        show_report(console(), known_cpus(), as_json=as_json)
        return
    place = file or out
    if place is not None:
        require_folder(place)
        require_new(place, force=force)
    elsewhere = any(field.said.panel == ANOTHER for field in ask.changed())
    result = described_dat(ask) if elsewhere else dat_here(ask, user_dirs())
    show_report(console(stderr=True), result.report(), as_json=as_json)
    if place is not None:
        result.write(place)
        then = "copy it to the machine beside xhpl" if result.commands else f"measure it with: hpltune run {place}"
        say(console(stderr=True), f"Wrote {place}; {then}")
    elif not as_json:
        print(result.text, end="")
