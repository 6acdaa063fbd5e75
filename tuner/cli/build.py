"""`hpltune build`: make the xhpl programs ahead of time."""

from ..asks.shared import Libraries, Source
from .common import Json, console, user_dirs
from .terminal import show_report


def build(blas: Libraries = (), hpl_source: Source = None, as_json: Json = False) -> None:
    """Build an xhpl for each BLAS on this machine, and the simulated one, and print where they are.

    `tune` does this by itself. The simulated one needs SimGrid; without it the others are built.

    Examples:

        hpltune build

        hpltune build --blas openblas --hpl-source ~/hpl-2.3.tar.gz
    """
    from ..commands.hosts import build as command
    from ..console import display
    from ..options import TuneOptions, parse_blas

    out = console(stderr=as_json)
    names, files = parse_blas(blas)
    options = TuneOptions(blas_only=names, blas_files=files, hpl_source=hpl_source)
    with display(out) as listener:
        result = command.build(options, user_dirs(), listener)
    show_report(out, result, as_json=as_json)
