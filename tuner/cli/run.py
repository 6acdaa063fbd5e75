"""`hpltune run`: measure an HPL.dat that is already there."""

from pathlib import Path
from typing import Annotated

import typer

from ..asks.field import BUDGET, MACHINE, MOST_RUNS
from ..asks.shared import Cluster, Container, Program, Rpeak, Source, Wrap
from .common import Db, Json, complete_study, given
from .terminal import INTERRUPTED, show_report, watched

OF_REAL_MACHINES = frozenset({"layout", "kernel", "oversubscribe", "xhpl", "container", "wrap"})
"""What a virtual cluster has no use for: one rank a core, one thread a rank, and libraries of its own."""


def run(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="HPL.dat", help="The file to measure; it is not changed.")],
    like: Annotated[
        str | None,
        typer.Option(
            metavar="STUDY[#TRIAL]",
            autocompletion=complete_study,
            rich_help_panel=MACHINE,
            help="Launch it as this trial or the best of this study: BLAS, kernel, threads, binding, MPI, cluster.",
        ),
    ] = None,
    layout: Annotated[
        str | None,
        typer.Option(
            metavar="RANKSxTHREADS",
            rich_help_panel=MACHINE,
            help="Ranks and threads. Default: the ranks of the file, with threads that fill the cores.",
        ),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            metavar="KERNEL", rich_help_panel=MACHINE, help="Kernel of the BLAS; `hpltune doctor` lists them."
        ),
    ] = None,
    repeats: Annotated[
        int, typer.Option(min=1, max=MOST_RUNS, rich_help_panel=BUDGET, help="How often the file is run.")
    ] = 1,
    oversubscribe: Annotated[
        bool,
        typer.Option(
            "--oversubscribe",
            rich_help_panel=MACHINE,
            help="Start more ranks than there are cores; the result will be poor.",
        ),
    ] = False,
    walltime: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            rich_help_panel=BUDGET,
            help="Time after which a run is stopped. Default: 24h; 10m for a simulation.",
        ),
    ] = None,
    cluster: Cluster = None,
    blas: Annotated[
        list[str] | None,
        typer.Option(
            "--blas",
            metavar="NAME[=FILE]",
            rich_help_panel=MACHINE,
            help="A BLAS of the catalogue, or your own library: --blas mine=/opt/lib/libblas.so.",
        ),
    ] = None,
    xhpl: Program = None,
    container: Container = "",
    wrap: Wrap = "",
    hpl_source: Source = None,
    rpeak: Rpeak = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Measure an existing HPL.dat with the same care as a trial: memory, binding, residual, the BLAS that really ran.

    On a virtual --cluster the file is simulated; its record says so and has no residual.

    Examples:

        hpltune run HPL.dat

        hpltune run best/HPL-full.dat --like default-1

        hpltune run HPL.dat --cluster my-cluster.toml

        hpltune run HPL.dat --cluster kronos

        hpltune run HPL.dat --blas openblas --kernel SkylakeX --repeats 3
    """
    from ..commands.campaigns.run import RunRequest
    from ..commands.campaigns.run import run as measure
    from ..commands.campaigns.simulate import simulate
    from ..console import output
    from ..errors import UsageError
    from ..machine.real_cluster import read_cluster
    from ..options import DEFAULT_SIMULATION_S, TuneOptions, parse_blas, parse_wrap, user_program, user_source
    from ..simulation.options import simulation_options
    from ..units import parse_duration_s

    names, files = parse_blas(blas or [])
    if len(names) > 1:
        raise UsageError(
            f"run measures one BLAS at a time, not {', '.join(names)}: "
            "start it once for each, or compare them with `hpltune tune --space blas`"
        )
    real = read_cluster(cluster)
    simulated = simulation_options(None if real else cluster, None, None).cluster
    for option in given(context, OF_REAL_MACHINES if simulated else frozenset()):
        raise UsageError(f"{option} is for real machines and changes nothing on a virtual --cluster: leave it out")
    if simulated and files:
        raise UsageError("--blas NAME=FILE is for real machines: a virtual --cluster has the libraries of its file")
    options = TuneOptions(
        blas_only=names,
        blas_files=files,
        xhpl=None if xhpl is None else user_program(xhpl, image=container or (real.cluster.container if real else "")),
        container=container,
        wrap=parse_wrap(wrap),
        hpl_source=user_source(hpl_source),
        rpeak_gflops=rpeak,
        price_usd=real.price_usd if real else None,
        power_w=real.power_w if real else None,
        real_cluster=real.cluster.table() if real else None,
        cluster=simulated,
    )
    usual_s = DEFAULT_SIMULATION_S if simulated else 86400.0
    walltime_s = parse_duration_s(walltime, "walltime") if walltime else usual_s
    request = RunRequest(file, options, like, layout, kernel, repeats, walltime_s, db, oversubscribe=oversubscribe)
    console = output(stderr=as_json)
    with watched(console) as (listener, stop):
        result = (simulate if simulated else measure)(request, listener, stop)
    show_report(console, result.report(), as_json=as_json)
    raise typer.Exit(INTERRUPTED if result.interrupted else 0 if result.all_count else 1)
