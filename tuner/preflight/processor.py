"""Checks of cores and their clock."""

import re
from collections.abc import Iterator

from ..words import counted
from .contract import NodeView, Spoiler, notes, warns

OWN_CHOICE = frozenset({"intel_pstate", "amd-pstate-epp", "amd_pstate_epp"})
"""Drivers with which the processor chooses its clock by itself, also with the governor powersave (Linux,
admin-guide/pm/intel_pstate.rst and amd-pstate.rst, active mode)."""
SLOW_CLOCKS = frozenset({"hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies", "xen"})
"""Clock sources that a process can read by a system call only, in microseconds and not in nanoseconds (Linux, vdso)."""
NEAR = 0.99
"""Part of the largest clock from which on a limit is none: drivers round."""
_COUNTED = re.compile(r"(\d{1,5}) x ([\w.-]{1,40})")


def hardware_threads(view: NodeView) -> Iterator[Spoiler]:
    """Yield that more threads will compute than there are cores."""
    cores = view.number("cores")
    if cores and view.plan.busy > cores:
        yield warns(
            f"{counted(view.plan.busy, 'thread')} will compute on {counted(int(cores), 'core')}: hardware threads of "
            "a core share its arithmetic, so that they count as cores only in number"
        )


def governor(view: NodeView) -> Iterator[Spoiler]:
    """Yield that the kernel keeps the clock low, or chooses it anew all the time."""
    found = {name for _, name in _COUNTED.findall(view.facts.get("governor", ""))}
    others = sorted(found - {"performance"})
    if not others:
        return
    named = ", ".join(others)
    if "powersave" in found and view.text("clock_driver") not in OWN_CHOICE:
        yield warns(f"the frequency governor is {named}, which keeps the lowest clock")
    else:
        yield notes(f"the frequency governor is {named}: performance gives steadier results")


def clock_limit(view: NodeView) -> Iterator[Spoiler]:
    """Yield that the kernel allows less than the largest clock."""
    most_mhz = view.number("max_mhz")
    allowed = [float(mhz) for _, mhz in _COUNTED.findall(view.facts.get("allowed_mhz", "")) if mhz.isdecimal()]
    if most_mhz and allowed and min(allowed) < NEAR * most_mhz:
        yield warns(f"the clock may be {min(allowed):,.0f} MHz at most, of {most_mhz:,.0f} MHz that the CPU can")


def boost(view: NodeView) -> Iterator[Spoiler]:
    """Yield that the clock above the advertised one is switched off."""
    if view.text("boost") == "off":
        yield warns("the boost of the clock (turbo) is switched off")


def mitigations(view: NodeView) -> Iterator[Spoiler]:
    """Yield how many faults of the processor the kernel works around."""
    match = re.match(r"(\d{1,3}) mitigated", view.facts.get("mitigations", ""))
    if match and int(match[1]):
        yield notes(
            f"the kernel works around {counted(int(match[1]), 'fault')} of the processor, which makes system calls "
            "slower, as messages between nodes need them; dgemm makes none"
        )


def clock_source(view: NodeView) -> Iterator[Spoiler]:
    """Yield that reading the time is slow."""
    name = view.text("clock_source")
    if name in SLOW_CLOCKS:
        yield warns(f"the kernel's clock source is {name}: MPI and HPL wait microseconds each time they read the clock")


def confined(view: NodeView) -> Iterator[Spoiler]:
    """Yield that this process may use only some of the CPUs."""
    if view.plan.confined:
        yield warns(
            "this process may use only some of the CPUs: ranks are not bound, whatever `binding` says, since MPI would "
            "bind them to others too"
        )
