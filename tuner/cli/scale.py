"""`hpltune scale`: how HPL scales over nodes or cores."""

import shlex
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from runners.job import BINDINGS

from ..asks.field import BUDGET, LARGEST_SEED, MACHINE, MOST_AT_ONCE, MOST_RUNS, OUTPUT, SEARCH
from ..asks.shared import Cluster, Jobs, Libraries, Limit, Program, Rpeak, Source
from .common import LARGEST_INT, Db, Html, Json, complete_study, given

if TYPE_CHECKING:
    from ..scaling.statistics import NodeOrder

OF_REAL_MACHINES = frozenset({"threads", "binding", "xhpl", "rpeak"})
"""What a virtual cluster has no use for."""


def scale(
    context: typer.Context,
    cluster: Cluster = None,
    nodes: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,…", rich_help_panel=SEARCH, help="Numbers of nodes to compare. Default: 1, 2, 4, … and all."
        ),
    ] = None,
    weak: Annotated[
        bool,
        typer.Option("--weak", rich_help_panel=SEARCH, help="Only weak scaling: the memory of each node is the same."),
    ] = False,
    strong: Annotated[
        bool, typer.Option("--strong", rich_help_panel=SEARCH, help="Only strong scaling: N stays the same.")
    ] = False,
    order: Annotated[
        str | None,
        typer.Option(
            metavar="ORDER,…",
            rich_help_panel=SEARCH,
            help="Lists of nodes: sorted, shuffled. Default: both on a cluster.",
        ),
    ] = None,
    repeats: Annotated[
        int,
        typer.Option(min=1, max=MOST_RUNS, rich_help_panel=BUDGET, help="Runs of each kind on each number of nodes."),
    ] = 3,
    n: Annotated[
        int | None,
        typer.Option(
            "--n",
            min=1,
            max=LARGEST_INT,
            rich_help_panel=SEARCH,
            help="N on the fewest nodes. Default: what --time allows.",
        ),
    ] = None,
    nb: Annotated[
        int | None,
        typer.Option(
            "--nb", min=1, max=LARGEST_INT, rich_help_panel=SEARCH, help="NB of all runs. Default: that of the BLAS."
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", rich_help_panel=BUDGET, help="Take the N that fills the memory.")
    ] = False,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            rich_help_panel=BUDGET,
            help="Time for all runs; what does not fit is left out. Default: 10m.",
        ),
    ] = None,
    threads: Annotated[
        int, typer.Option(min=1, max=MOST_AT_ONCE, rich_help_panel=MACHINE, help="Threads of each rank, on a cluster.")
    ] = 1,
    depth: Annotated[
        int,
        typer.Option(
            min=0,
            max=1,
            rich_help_panel=MACHINE,
            help="Look-ahead. With 0 HPL's timers tell the broadcast from the update.",
        ),
    ] = 0,
    binding: Annotated[
        str,
        typer.Option(metavar="WORD", rich_help_panel=MACHINE, help=f"What a rank is bound to: {', '.join(BINDINGS)}."),
    ] = BINDINGS[0],
    seed: Annotated[
        int, typer.Option(min=0, max=LARGEST_SEED, rich_help_panel=SEARCH, help="Seed of the shuffled lists.")
    ] = 0,
    study: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=complete_study,
            rich_help_panel=OUTPUT,
            help="Study of the runs; what is in it already is not run again. Default: a new one.",
        ),
    ] = None,
    blas: Libraries = (),
    xhpl: Program = None,
    hpl_source: Source = None,
    rpeak: Rpeak = None,
    jobs: Jobs = None,
    limit: Limit = None,
    html: Html = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Run HPL on 1, 2, 4, … nodes and tell how well it scales, and what limits it.

    Without --cluster ranks on the cores of this machine take the place of nodes. On a virtual cluster all is simulated.

    Exit code: 0 all runs count, 1 some do not or a node was lost, 2 wrong usage, 130 stopped by Ctrl-C.

    Examples:

        hpltune scale

        hpltune scale --cluster my-cluster.toml --nodes 1,2,4,8 --time 1h --html scaling.html

        hpltune scale --cluster my-cluster.toml --weak --order shuffled --repeats 5

        hpltune scale --cluster infiniband64
    """
    from ..console import output
    from ..errors import UsageError
    from ..machine.real_cluster import read_cluster
    from ..options import TuneOptions, parse_blas, user_program, user_source
    from ..scaling.scale import ScaleRequest, measure_scaling
    from ..scaling.statistics import Scaling
    from ..simulation.options import simulation_options
    from ..study.names import check_name
    from ..units import parse_duration_s
    from .terminal import INTERRUPTED, ReportFiles, show_and_write, watched

    if binding not in BINDINGS:
        raise UsageError(f"--binding {binding}: choose one of {', '.join(BINDINGS)}")
    if study is not None:
        check_name(study)
    if n is not None and full:
        raise UsageError("--n and --full: one of them chooses N, not both")
    real = read_cluster(cluster)
    simulated = simulation_options(None if real else cluster, jobs, limit)
    for option in given(context, OF_REAL_MACHINES if simulated.cluster else frozenset()):
        raise UsageError(f"{option} is for real machines and changes nothing on a virtual --cluster: leave it out")
    names, blas_files = parse_blas(blas)
    options = TuneOptions(
        seed=seed,
        repeats=repeats,
        full=full,
        blas_only=names,
        blas_files=blas_files,
        xhpl=None if xhpl is None else user_program(xhpl, image=real.cluster.container if real else ""),
        hpl_source=user_source(hpl_source),
        rpeak_gflops=rpeak,
        real_cluster=real.cluster.table() if real else None,
        cluster=simulated.cluster,
        jobs=jobs,
        limit_s=simulated.limit_s,
    )
    request = ScaleRequest(
        options=options,
        counts=_counts(nodes),
        scalings=tuple(Scaling) if weak == strong else (Scaling.WEAK if weak else Scaling.STRONG,),
        orders=_orders(order) if order is not None else None,
        n=n,
        nb=nb,
        threads=threads,
        depth=depth,
        binding=binding,
        time_s=parse_duration_s(time, "time") if time else None,
        study=study,
        db=db,
        command=shlex.join(["hpltune", *sys.argv[1:]]),
    )
    files = ReportFiles.required(html)
    out = output(stderr=as_json)
    with watched(out) as (listener, stop):
        result = measure_scaling(request, listener, stop)
    show_and_write(out, result.report(), files, as_json=as_json, page=result.page() if html else None)
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(0 if result.complete else 1)


def _counts(text: str | None) -> tuple[int, ...]:
    """Read `--nodes`.

    Raises:
        UsageError: it is no list of numbers.
    """
    from ..errors import UsageError

    found = []
    for word in (text or "").split(","):
        if text is None:
            break
        if not word.strip().isdecimal() or int(word) < 1:
            raise UsageError(f"--nodes {text}: write numbers of nodes, for example --nodes 1,2,4")
        found.append(int(word))
    return tuple(found)


def _orders(text: str) -> "tuple[NodeOrder, ...]":
    """Read `--order`.

    Raises:
        UsageError: there is no such order.
    """
    from ..errors import UsageError
    from ..scaling.statistics import NodeOrder

    words = {word.strip() for word in text.split(",")}
    if not words <= set(NodeOrder):
        raise UsageError(f"--order {text}: write sorted, shuffled or both: --order sorted,shuffled")
    return tuple(order for order in NodeOrder if order in words)
