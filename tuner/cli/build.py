"""`hpltune build`: make the xhpl programs ahead of time."""

from .common import BlasFiles, Json, Source


def build(blas: BlasFiles = None, hpl_source: Source = None, as_json: Json = False) -> None:
    """Build an xhpl for each BLAS on this machine, and the simulated one, and print where they are.

    `tune` does this by itself. The simulated one needs SimGrid; without it the others are built.

    Examples:

        hpltune build

        hpltune build --blas openblas --hpl-source ~/hpl-2.3.tar.gz
    """
    from ..commands.build import build_programs
    from ..options import TuneOptions, parse_blas

    names, files = parse_blas(blas or [])
    build_programs(TuneOptions(blas_only=names, blas_files=files, hpl_source=hpl_source), as_json=as_json)
