"""`hpltune known`: published HPL results of other people's machines."""

from collections.abc import Callable, Mapping, Sequence

from results.report.model import Report, Sentence

from ..errors import TunerError, UsageError
from ..machine.known_machines import KnownMachine, known_machines
from ..reports.published_results import known_json, known_table
from ..words import counted

MOST_SOURCES = 12
"""Results whose sources a terminal lists below the table."""
ORDERS: Mapping[str, Callable[[KnownMachine], float | None] | None] = {
    "machine": None,
    "cpu": None,
    "cores": lambda machine: machine.cores,
    "gflops": lambda machine: machine.rmax_gflops,
    "percent-of-peak": lambda machine: machine.percent_of_peak,
    "mflops-per-watt": lambda machine: machine.mflops_per_watt,
}
"""What results are sorted by; of figures the largest comes first, and unknown ones come last."""


def published_machines(words: Sequence[str] = (), by: str = "machine") -> Sequence[KnownMachine]:
    """Sort published results.

    Args:
        words: each must be in the machine's name, kind, CPU or note; none lists all.
        by: what they are sorted by.

    Raises:
        TunerError: nothing has these words, or there is no such order.
    """
    if by not in ORDERS:
        raise UsageError(f"choose one of {', '.join(ORDERS)}", field="by", given=by)
    asked = [word.casefold() for text in words for word in text.split()]
    texts = {one: f"{one.machine} {one.kind} {one.cpu} {one.note}".casefold() for one in known_machines()}
    found = [machine for machine, text in texts.items() if all(word in text for word in asked)]
    if not found:
        said = f"no published result has {' '.join(words)!r} in its name, CPU or note: `hpltune known` lists all"
        raise TunerError(said)
    return sorted(found, key=_order(by))


def list_known(words: Sequence[str] = (), by: str = "machine") -> Report:
    """Report a table of `published_machines`, and where the figures stand."""
    machines = published_machines(words, by)
    few = len(machines) <= MOST_SOURCES
    more = "" if few else f" Up to {MOST_SOURCES} are listed with their sources: add a word, or ⟦json⟧."
    table = known_table(
        machines,
        watts=by == "mflops-per-watt",
        caption=f"{counted(len(machines), 'published result')}. Where the CPU has unlike cores, no peak is told.{more}",
    )
    sources = [Sentence(f"{machine.machine}: {machine.source}", unbroken=True) for machine in machines]
    facts: list[object] = [known_json(machine) for machine in machines]
    return Report("Published HPL results", (table, *(sources if few else ())), facts)


def known_words(incomplete: str) -> list[str]:
    """Words of names and CPUs that begin so, for tab completion."""
    words = {word for machine in known_machines() for word in f"{machine.machine} {machine.cpu}".split()}
    return sorted(word for word in words if word.casefold().startswith(incomplete.casefold()))


def _order(by: str) -> Callable[[KnownMachine], tuple[bool, float, str, str]]:
    figure = ORDERS[by]

    def key(machine: KnownMachine) -> tuple[bool, float, str, str]:
        value = figure(machine) if figure else None
        cpu = machine.cpu.casefold() if by == "cpu" else ""
        return (value is None, -(value or 0.0), cpu, machine.machine.casefold())

    return key
