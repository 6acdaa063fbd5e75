"""Checks the cases of a parameter that depends on another: each must be a possible value of the other."""

import difflib

from hpl.blas.registry import CATALOGUE
from hpl.build.toolchain import NAMES

from ..errors import SpaceError
from ..machine import Machine
from .parameter import Parameter

SHOWN = 20
"""Most values of a decider that a message names."""


def check_cases(parameter: Parameter, decider: Parameter, machine: Machine, *, listed: bool) -> None:
    """Refuse a case that never happens, because its values would silently never be tried.

    Args:
        decider: the parameter on which the other depends, with its values on this machine.
        listed: whether the space itself lists the decider's values. Otherwise the machine or the command line decides
            them, a case may be for another machine or command line, and only misspelt names are refused.

    Raises:
        SpaceError: there is such a case; the message suggests the nearest value.
    """
    elsewhere = {"blas": (*machine.blas, *CATALOGUE), "mpi": (*machine.mpis, *NAMES)}.get(decider.name, ())
    if not listed and not elsewhere:
        return
    known = (*decider.values, *elsewhere)
    own = " A library of your own must be in `blas`" if decider.name == "blas" else ""
    for case in parameter.cases or ():
        near = difflib.get_close_matches(str(case), [str(value) for value in known], n=1)
        if case not in known and near:
            raise SpaceError(f"{case} is no value of {decider.name}: did you mean {near[0]}?{own}")
        if case not in known and listed:
            shown = ", ".join(map(str, known[:SHOWN])) + (", …" if len(known) > SHOWN else "")
            raise SpaceError(f"{case} is no value of {decider.name}: expected one of {shown}.{own}")
