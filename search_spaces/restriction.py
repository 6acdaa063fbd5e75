"""Restrictions between parameters. Each has a name, and a sentence with the numbers that break it.

A new restriction is one function and one line in RESTRICTIONS.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from hpl.params import Scalar, parse_grid
from hpl.programs.terms import OwnRule
from hpl.sizing import n_that_fits

from .machine import PROGRAM, BlasFacts, Machine
from .node_order import BY_SPEED, BY_SWITCH, LISTED
from .parameters.dimension import CORES, DERIVED_FROM, Point, dropped_nodes, ranks_and_threads

PARTITION, OWN_PARTITION = "sys.blis_partition", "own"
WAIT = "sys.omp_wait"

Check = Callable[[Point, Machine], str | None]


@dataclass(frozen=True)
class Restriction:
    """A restriction.

    Attributes:
        needs: the parameters that it reads, and those that decide their defaults.
        check: returns the sentence why a complete point breaks it, or None.
        own: whether it belongs to one space, as a `[[forbid]]` table does.
        told: whether its name tells users something that its sentence does not.
    """

    name: str
    needs: tuple[str, ...]
    check: Check
    own: bool = False
    told: bool = True

    def why_broken(self, point: Point, machine: Machine) -> str | None:
        """Return why a complete point breaks it; nothing does while it reads an N that nobody has chosen."""
        return None if "N" in self.needs and "N" not in point else self.check(point, machine)


def grid_uses_all_ranks(point: Point, _machine: Machine) -> str | None:
    """Require P x Q = ranks: surplus ranks would only wait, and missing ones stop HPL."""
    P, Q = parse_grid(str(point["grid"]))
    ranks, _ = ranks_and_threads(point["layout"])
    if ranks == P * Q:
        return None
    layout = point["layout"]
    return f"the grid {P}x{Q} needs {P * Q} ranks, but the layout {layout} starts {ranks}: choose a grid of {ranks}"


def layout_fits_cores(point: Point, machine: Machine) -> str | None:
    """Require ranks x threads <= cores: more of them measure the scheduler, not HPL."""
    ranks, threads = ranks_and_threads(point["layout"])
    left = machine.without(dropped_nodes(point))
    if ranks * threads <= left.cores:
        return None
    cores = ranks * threads
    return f"the layout {ranks}x{threads} needs {cores} cores, but there are {left.cores}: {machine.more_cores}"


def ranks_fill_nodes_evenly(point: Point, machine: Machine) -> str | None:
    """Require the same number of ranks on every node, and cores for their threads."""
    ranks, threads = ranks_and_threads(point["layout"])
    left = machine.without(dropped_nodes(point))
    each, rest = divmod(ranks, left.nodes)
    if rest:
        asked = f"the layout {ranks}x{threads} does not spread evenly over {left.nodes} nodes"
        return f"{asked}: take a multiple of them"
    cores = left.cores // left.nodes
    if each * threads <= cores:
        return None
    return f"the layout {ranks}x{threads} needs {each * threads} cores on each node, but there are {cores}: take fewer"


def a_node_is_left(point: Point, machine: Machine) -> str | None:
    """Require nodes that can be dropped, and one that is left."""
    dropped = dropped_nodes(point)
    if dropped == 0 or dropped < len(machine.node_list):
        return None
    asked = f"nodes_dropped = {dropped}"
    if machine.node_list:
        count = len(machine.node_list)
        return f"{asked} leaves none of {count} node{'s' * (count > 1)}: take at most {count - 1}"
    if machine.nodes > 1:
        chosen = f"{machine.chooser} chooses the nodes of a run, so none can be dropped before"
        return f'{asked}: {chosen}: backend = "ssh" can'
    return f"{asked}: there is one node only: leave it out, or name a cluster with ⟦cluster⟧"


def idle_nodes_are_dropped(point: Point, machine: Machine) -> str | None:
    """Require ranks on every node that is left where ranks fill one node after the other: an idle one is dropped."""
    if "nodes_dropped" not in point or not machine.fills_nodes:
        return None
    dropped = dropped_nodes(point)
    left, (ranks, _) = machine.without(dropped), ranks_and_threads(point["layout"])
    idle, filled = 0, left.cores - ranks
    for node in reversed(left.node_list):
        filled -= node.cores
        idle += filled >= 0
    if idle <= 0:
        return None
    asked = f"the layout {point['layout']} with nodes_dropped = {dropped} leaves {idle} of {len(left.node_list)} nodes"
    return f"{asked} without a rank: take more ranks, or nodes_dropped = {dropped + idle}"


def order_is_known(point: Point, machine: Machine) -> str | None:
    """Require what an order of ranks sorts nodes by."""
    order = str(point.get("rank_order", LISTED))
    if order == LISTED:
        return None
    asked = f"rank_order = {order}"
    if not machine.node_list:
        where = f'{machine.chooser} chooses the nodes of a run: backend = "ssh" can'
        return f"{asked}: {where if machine.nodes > 1 else 'there is one node only'}"
    if order in BY_SWITCH and not machine.switches:
        unknown = [node.name for node in machine.node_list if not node.switch]
        return f"{asked}: nobody told the switch of {', '.join(unknown)}: name it in [switches] of the cluster file"
    if order in BY_SPEED and any(node.speed is None for node in machine.node_list):
        measured = "write [speeds] into the cluster file, or add ⟦nodes_check⟧ drop"
        return f"{asked}: nobody told how fast the nodes are: {measured}"
    return None


def threads_need_threaded_blas(point: Point, machine: Machine) -> str | None:
    """Allow more than one thread per rank only with a BLAS that has a threaded build."""
    _, threads = ranks_and_threads(point["layout"])
    facts = machine.blas.get(str(point["blas"]))
    if threads == 1 or facts is None or facts.threaded:
        return None
    asked = f"the layout {point['layout']} wants {threads} threads a rank"
    return f"{asked}, but {point['blas']} has no threaded build: take one thread"


def kernel_of_its_blas(point: Point, machine: Machine) -> str | None:
    """Allow a kernel only with a BLAS that has it; another BLAS would run one of its own kernels."""
    blas, kernel = str(point["blas"]), str(point["kernel"])
    owners = [name for name, facts in machine.blas.items() if kernel in facts.named_kernels]
    facts = machine.blas.get(blas)
    if not owners or facts is None or blas in owners:
        return None
    own = ", ".join(("auto", *facts.named_kernels))
    return f"kernel = {kernel} is one of {', '.join(owners)}, not of {blas}: take {own}"


def nbmin_at_most_nb(point: Point, _machine: Machine) -> str | None:
    """Require NBMIN <= NB: the recursion cannot stop at more columns than a panel has."""
    if int(point["NBMIN"]) <= int(point["NB"]):
        return None
    return f"NBMIN = {point['NBMIN']} is larger than NB = {point['NB']}: take at most NB"


def fits_memory(point: Point, machine: Machine) -> str | None:
    """Require that the matrices and panels of all ranks fit the memory."""
    params = machine.terms.run_of(point)
    memory_bytes, free = machine.terms.memory_bytes, machine.without(dropped_nodes(point)).memory_bytes
    needed = params.ranks * memory_bytes(params)
    if needed <= free:
        return None
    of_gpus = " of the GPUs' memory" if machine.shape.gpus else ""
    if machine.terms.lacks("N"):
        asked = f"the equations of {params.ranks} ranks need {_gibibytes(needed)}"
        return f"{asked}, but only {_gibibytes(free)}{of_gpus} may be used: take fewer of each rank, or fewer ranks"
    asked = f"N = {params.N} with NB = {params.NB} needs {_gibibytes(needed)}"
    largest = n_that_fits(params, free, memory_bytes)
    smaller = f"take at most N = {largest}" if largest else "take a smaller NB"
    return f"{asked}, but only {_gibibytes(free)}{of_gpus} may be used: {smaller}"


def _gibibytes(count: float) -> str:
    gib = count / 2**30
    return f"{gib:.1f} GiB" if gib >= 0.05 else f"{gib:.2g} GiB"


def n_at_least_nb(point: Point, _machine: Machine) -> str | None:
    """Require N >= NB x Q: then every process column has a panel."""
    _, Q = parse_grid(str(point["grid"]))
    if int(point["N"]) >= int(point["NB"]) * Q:
        return None
    asked = f"N = {point['N']} leaves some of {Q} process columns without a panel of NB = {point['NB']}"
    return f"{asked}: take a larger N or a smaller NB"


def grid_near_square(point: Point, _machine: Machine) -> str | None:
    """Require P <= 2 Q and Q <= 8 P: no published grid outside of that was the fastest."""
    P, Q = parse_grid(str(point["grid"]))
    return (
        None
        if P <= 2 * Q and Q <= 8 * P
        else f"the grid {point['grid']} is too far from square: choose P <= 2 Q and Q <= 8 P"
    )


def grid_flat(point: Point, _machine: Machine) -> str | None:
    """Require P <= Q, as HPL's FAQ and every vendor advise."""
    P, Q = parse_grid(str(point["grid"]))
    return None if P <= Q else f"the grid {point['grid']} has more rows than columns: choose {Q}x{P}"


def cores_hold_ranks(point: Point, machine: Machine) -> str | None:
    """Require ranks x threads <= the cores of `sys.cores`."""
    ranks, threads = ranks_and_threads(point["layout"])
    left = machine.without(dropped_nodes(point))
    cores = left.cores_with(point.get(CORES))
    if ranks * threads <= cores:
        return None
    asked = f"the layout {point['layout']} needs {ranks * threads} cores"
    return f"{asked}, but {CORES} = {point[CORES]} gives ranks {cores}: take fewer ranks or threads"


def partition_uses_all_threads(point: Point, machine: Machine) -> str | None:
    """Require BLIS, and loops whose product is the threads of a rank."""
    partition, blas = str(point.get(PARTITION, OWN_PARTITION)), str(point["blas"])
    if partition == OWN_PARTITION:
        return None
    if machine.blas.get(blas, BlasFacts()).family not in {"", "blis"}:
        return f"{PARTITION} = {partition} is for BLIS, and {blas} is none: take {OWN_PARTITION}"
    _, threads = ranks_and_threads(point["layout"])
    product = prod(map(int, partition.split("x")))
    if product == threads:
        return None
    return f"{PARTITION} = {partition} is for {product} threads, but the layout {point['layout']} has {threads} a rank"


def waiting_needs_threads(point: Point, _machine: Machine) -> str | None:
    """Require several threads a rank for active waiting: one alone waits for no other, so both are the same."""
    _, threads = ranks_and_threads(point["layout"])
    if threads > 1 or point.get(WAIT) != "active":
        return None
    return f"{WAIT} = active changes nothing with one thread a rank, as the layout {point['layout']} has: take passive"


_LAYOUT = ("layout", "nodes_dropped")
_GRID = ("grid", *_LAYOUT)
_MEMORY = ("N", "memory_fraction", "NB", *_GRID, "DEPTH", "alignment")

ALWAYS: tuple[Restriction, ...] = (
    Restriction("a_node_is_left", ("nodes_dropped",), a_node_is_left),
    Restriction("order_is_known", ("rank_order",), order_is_known),
    Restriction("layout_fits_cores", _LAYOUT, layout_fits_cores),
    Restriction("ranks_fill_nodes_evenly", _LAYOUT, ranks_fill_nodes_evenly),
    Restriction("idle_nodes_are_dropped", _LAYOUT, idle_nodes_are_dropped),
    Restriction("grid_uses_all_ranks", _GRID, grid_uses_all_ranks),
    Restriction("threads_need_threaded_blas", (*_LAYOUT, "blas"), threads_need_threaded_blas),
    Restriction("kernel_of_its_blas", ("kernel", "blas"), kernel_of_its_blas),
    Restriction("nbmin_at_most_nb", ("NBMIN", "NB"), nbmin_at_most_nb),
    Restriction("n_at_least_nb", ("N", "memory_fraction", "NB", *_GRID), n_at_least_nb),
    Restriction("fits_memory", _MEMORY, fits_memory),
)
"""Restrictions of every space: a point that breaks one cannot run."""


def known_to(machine: Machine, rules: Sequence[Restriction]) -> list[Restriction]:
    """List the restrictions of lines of HPL.dat that the programs of a machine have; they have all the same ones.

    What fits the memory is decided by a program's own parameters where it has no N.
    """
    terms = machine.terms
    own = tuple(parameter.point_name for each in machine.all_terms for parameter in each.own)
    found = []
    for rule in rules:
        if rule.check is fits_memory:
            found.append(replace(rule, needs=(*own, *_LAYOUT)) if terms.lacks("N") else rule)
        elif not any(map(terms.lacks, rule.needs)):
            found.append(rule)
    return found


_OF_SETTINGS: Mapping[str, Restriction] = {
    CORES: Restriction("cores_hold_ranks", (CORES, *_LAYOUT), cores_hold_ranks),
    PARTITION: Restriction("partition_uses_all_threads", (PARTITION, "blas", *_LAYOUT), partition_uses_all_threads),
    WAIT: Restriction("waiting_needs_threads", (WAIT, *_LAYOUT), waiting_needs_threads),
}
"""Restrictions of spaces that have one of these settings."""

RESTRICTIONS: Mapping[str, Restriction] = {
    restriction.name: restriction
    for restriction in (
        Restriction("grid_near_square", _GRID, grid_near_square),
        Restriction("grid_flat", _GRID, grid_flat),
    )
}
"""Restrictions that a space may name."""


def taken_by(machine: Machine, broadcasts: Collection[Scalar] = ()) -> list[Restriction]:
    """List the rules that programs take only some values of a line of HPL.dat, and only some numbers of ranks.

    Args:
        broadcasts: all values of BCAST in a space.
    """

    def rule(name: str) -> Restriction:
        needs = (name, *of_program)
        return Restriction(f"program_takes_{name}", needs, lambda point, seen: seen.terms.refusal(name, point[name]))

    of_program = (PROGRAM,) if machine.programs else ()
    every = machine.all_terms
    few_ranks = any(terms.no_other_ranks for terms in every)
    ranks = [Restriction("ranks_of_program", (*_LAYOUT, *of_program), ranks_of_program)] if few_ranks else []
    blas = [Restriction("blas_of_program", ("blas", PROGRAM), blas_of_program)] if machine.programs else []
    refused = any(terms.refusal("BCAST", value) for terms in every for value in broadcasts)
    names = dict.fromkeys((*(name for terms in every for name in terms.takes), *(("BCAST",) if refused else ())))
    rules = dict.fromkeys(rule for terms in every for rule in terms.rules)
    return [*map(rule, names), *ranks, *blas, *(_of_program(one, of_program) for one in rules)]


def _of_program(rule: OwnRule, of_program: tuple[str, ...]) -> Restriction:
    """Make the restriction of what a program refuses together."""

    def check(point: Point, machine: Machine) -> str | None:
        if rule not in machine.terms.rules:
            return None
        ranks, _ = ranks_and_threads(point["layout"])
        return rule.check(point, ranks // machine.without(dropped_nodes(point)).nodes)

    return Restriction(rule.name, (*rule.needs, *_LAYOUT, *of_program), check)


def blas_of_program(point: Point, machine: Machine) -> str | None:
    """Require a BLAS that the program is built with, or its own."""
    if point["blas"] in machine.blas:
        return None
    return f"blas = {point['blas']} does not go with program = {point.get(PROGRAM)}: take {', '.join(machine.blas)}"


def of_settings(names: Collection[str], machine: Machine) -> list[Restriction]:
    """List the rules about settings among these parameters: what the hosts offer, and what goes with what."""

    def rule(name: str) -> Restriction:
        def check(point: Point, machine: Machine) -> str | None:
            return machine.offer.why_not(name, point[name]) if machine.offer and name in point else None

        return Restriction(f"hosts_offer_{name}", (name,), check, told=False)

    offered = filter(machine.offer.knows, names) if machine.offer else ()
    return [*map(rule, offered), *(_OF_SETTINGS[name] for name in names if name in _OF_SETTINGS)]


def ranks_of_program(point: Point, machine: Machine) -> str | None:
    """Require a number of ranks on each node with which the program can be started."""
    if not machine.terms.no_other_ranks:
        return None
    ranks, _ = ranks_and_threads(point["layout"])
    left = machine.without(dropped_nodes(point))
    known = machine.terms.ranks_on_node(left.node)
    if ranks // left.nodes in known:
        return None
    return f"the layout {point['layout']} is refused by the program: it takes {', '.join(map(str, known))} ranks a node"


def forbidden(number: int, when: Mapping[str, tuple[Scalar, ...]], because: str) -> Restriction:
    """Make the restriction of a `[[forbid]]` table, against points whose named parameters all have listed values."""

    def check(point: Point, _machine: Machine) -> str | None:
        return because if all(point.get(name) in values for name, values in when.items()) else None

    needs = dict.fromkeys(other for name in when for other in (name, *DERIVED_FROM.get(name, ())))
    return Restriction(f"forbid {number}", tuple(needs), check, own=True)
