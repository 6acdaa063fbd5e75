"""`hpltune build`."""

import json

from hpl.build.programs import Recipe, build
from hpl.build.simgrid import SimGridError, find_simgrid
from hpl.build.virtual_program import build_virtual

from ..console.progress import display, output
from ..options import TuneOptions
from ..trial.workbench import Workbench
from ..user_dirs import UserDirs


def build_programs(options: TuneOptions, *, as_json: bool) -> None:
    """Build an xhpl for every BLAS, and the simulated one where SimGrid is here, and print where each is.

    Raises:
        hpl.errors.HplError: something is missing, or a build failed.
    """
    console = output(stderr=as_json)
    with display(console) as listener:
        workshop = Workbench.open(options, UserDirs.of_user(), listener, probing=False)
        names = [entry.name for entry in workshop.site.blas]
        workshop.build(names, (1, 2), listener)
    source = workshop.evaluator.source
    rows = []
    for entry in workshop.site.blas:
        for library in entry.libraries:
            if source is not None:
                program = build(Recipe(source, workshop.site.mpi, library), workshop.evaluator.search)
                row = {"blas": entry.name, "library": str(library.path), "threading": str(library.threading)}
                rows.append({**row, "xhpl": str(program.path)})
    if source is not None:
        try:
            simulated = build_virtual(source, find_simgrid(), workshop.evaluator.search)
            rows.append({"blas": "simulated", "library": "", "threading": "", "xhpl": str(simulated.path)})
        except SimGridError as error:
            console.print(f"The simulated xhpl was not built: {error}.", soft_wrap=True)
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        console.print(f"{row['blas']:14s} {row['threading']:9s} {row['xhpl']}")
