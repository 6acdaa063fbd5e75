"""`hpltune calibrate`: this machine, or a real cluster, as a virtual one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from runners.job import BINDINGS

from ..asks.field import MOST_RUNS
from ..asks.shared import Libraries, Source
from .common import Json

if TYPE_CHECKING:
    from rich.console import Console

    from ..commands.calibrate import CalibrateResult


def calibrate(
    out: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="The cluster file to write. Default: the terminal.")
    ] = None,
    checks: Annotated[
        int, typer.Option(min=0, max=MOST_RUNS, help="HPL configurations to check the model against.")
    ] = 12,
    rounds: Annotated[int, typer.Option(min=1, max=MOST_RUNS, help="How often everything is measured.")] = 3,
    cluster: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Calibrate the nodes of a real cluster and the network between them."),
    ] = None,
    binding: Annotated[
        str, typer.Option(metavar="WORD", help=f"What a rank is bound to: {', '.join(BINDINGS)}.")
    ] = BINDINGS[0],
    blas: Libraries = (),
    hpl_source: Source = None,
    as_json: Json = False,
) -> None:
    """Measure this machine, write it as a virtual cluster, and show how well that predicts HPL.

    It times dgemm and dtrsm in HPL's shapes on all cores at once, and messages by ping-pong; with --cluster on the
    nodes of a real cluster. Then it compares HPL runs, to which the model was not fitted, with simulations. A round
    takes about a minute. A simulated study can guide a real one: `hpltune tune --from-simulation`.

    Examples:

        hpltune calibrate mine.toml

        hpltune calibrate mine.toml --blas openblas --blas blis --rounds 5

        hpltune calibrate model.toml --cluster my-cluster.toml --rounds 1
    """
    from runners.hosts.cluster import load_real_cluster

    from ..commands import calibrate as use_case
    from ..console import output
    from ..errors import TunerError, UsageError
    from ..options import TuneOptions, parse_blas
    from .terminal import INTERRUPTED, show_report, watched

    if binding not in BINDINGS:
        raise UsageError(f"--binding {binding}: choose one of {', '.join(BINDINGS)}")
    names, files = parse_blas(blas)
    real = load_real_cluster(cluster).table() if cluster else None
    options = TuneOptions(blas_only=names, blas_files=files, hpl_source=hpl_source, real_cluster=real)
    console = output(stderr=as_json)
    with watched(console) as (listener, stop):
        result = use_case.calibrate(use_case.CalibrateRequest(out, options, checks, rounds, binding), listener, stop)
    if result.cluster is not None:
        show_report(console, result.report(), as_json=as_json)
        _show_model(console, result, out, as_json=as_json)
    if result.unchecked and not as_json:
        raise TunerError(result.unchecked)
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)


def _show_model(console: "Console", result: "CalibrateResult", out: Path | None, *, as_json: bool) -> None:
    """Say where the model is, or print it where there is no file for it or none could be written."""
    if result.unwritten is not None:
        console.print(result.text, soft_wrap=True, end="")
        raise result.unwritten
    if out is not None:
        console.print(f"Wrote {out}. Simulate it with: hpltune tune --cluster {out}")
    elif not as_json:
        print(result.text, end="")
