"""`hpltune doctor`: what was found on this machine and what is missing."""

import typer

from .common import BlasFiles, Json, Rpeak, console, places


def doctor(blas: BlasFiles = None, rpeak: Rpeak = None, as_json: Json = False) -> None:
    """Show what was found and what is missing, Rpeak with its reasoning, and which kernel each BLAS picks by itself.

    Ends with 1 where something that `tune` needs is missing.

    Examples:

        hpltune doctor

        hpltune doctor --json
    """
    from ..doctor import examine, render
    from ..options import parse_blas

    _, files = parse_blas(blas or [])
    findings = examine(places(), files, rpeak)
    render(console(), findings, as_json=as_json)
    raise typer.Exit(1 if findings.missing else 0)
