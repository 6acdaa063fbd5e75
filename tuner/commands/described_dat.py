"""The HPL.dat for a machine that a few figures describe: nothing is measured, and the machine need not exist."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from hpl.params import HplParams
from hpl.sizing import (
    DOUBLE,
    NodeShare,
    SizingError,
    flop_count,
    memory_bytes,
    n_for_memory,
    n_that_fits,
    process_grids,
    seconds,
)
from results.metrics import four_digits

from ..asks.dat import LARGEST, DatAsk
from ..errors import UsageError
from ..machine.described import CACHE_CORES, SLOW_GBIT_S, DescribedMachine, near_square, read_network
from ..machine.problem_size import NB_UNKNOWN
from ..units import duration, parse_bytes, sizes
from ..words import counted
from .cpu_names import read_cpu
from .dat import DatResult, unusual, usual_reasons


@dataclass(frozen=True)
class _ExpectedRate:
    """A rate of the whole machine that may be expected, and why."""

    slowest_gflops: float
    fastest_gflops: float
    because: str


def described_dat(ask: DatAsk) -> DatResult:
    """Find a sensible configuration for the machine that an ask describes.

    Raises:
        HplError, TunerError: something is missing, or no such machine can run this.
    """
    machine = machine_of(ask)
    ranks = ask.ranks or machine.nodes * machine.ranks_per_node
    _check_ranks(ranks, machine)
    here = ranks // machine.nodes
    P, Q = machine.grid(ranks)
    NB = ask.NB or (machine.cpu.NB if machine.cpu else NB_UNKNOWN)
    nodes = [NodeShare(machine.memory_bytes, here)] * machine.nodes
    least = HplParams(N=NB * max(P, Q), NB=NB, P=P, Q=Q, swap_threshold=NB, DEPTH=1 if Q > 1 else 0)
    try:
        N = ask.N or n_for_memory(nodes, fraction=ask.memory_fraction, NB=NB, P=P, Q=Q)
    except SizingError as error:
        raise _too_little(ask, machine, least) from error
    if N > LARGEST:
        raise UsageError(
            f"the matrix of HPL's largest N, {LARGEST:,}, does not fill it", field="memory", given=ask.memory
        )
    params = _fitting(ask, machine, least, replace(least, N=N))
    rpeak_gflops = _rpeak_gflops(ask, machine)
    reasons = (
        *_sizes(ask, machine, params, here, panels=params.N < N),
        *usual_reasons(params),
        *_expected(ask, machine, params, rpeak_gflops),
        *unusual(params),
        *_assumed(ask, machine, rpeak_gflops),
    )
    facts = {"ranks_per_node": here, "threads_per_rank": machine.cores // here, "rpeak_gflops": rpeak_gflops}
    rate = _rate(ask, machine, params, rpeak_gflops)
    if rate is not None:
        facts["shortest_time_s"] = seconds(params.N, rate.fastest_gflops)
        facts["longest_time_s"] = seconds(params.N, rate.slowest_gflops)
    commands = _commands(machine, ranks, here)
    return DatResult(params, reasons, commands, tuple(facts.items()), HOSTS_NOTE if machine.nodes > 1 else "")


HOSTS_NOTE = (
    "The file hosts names the nodes, one in each line; inside a job of Slurm or PBS mpirun knows them, and "
    "`--hostfile hosts` is left out."
)


def machine_of(ask: DatAsk) -> DescribedMachine:
    """The machine that an ask describes.

    Raises:
        UsageError: cores or memory are missing, or something makes no sense.
    """
    cpu = None if ask.cpu is None else read_cpu(ask.cpu)
    network_gbit_s = None if ask.network is None else read_network(ask.network)
    for key, example in (("cores", "64"), ("memory", "256GiB")):
        if getattr(ask, key) is None:
            raise UsageError(
                f"⟦{key}⟧ is missing: a machine that is not here needs it for each node, such as {example}", field=key
            )
    if ask.blas:
        raise UsageError(
            "libraries are looked for on this machine: leave it out for a machine that is not here", field="blas"
        )
    if ask.flops_per_cycle is not None and ask.ghz is None:
        raise UsageError("⟦flops_per_cycle⟧ needs ⟦ghz⟧ beside it: Rpeak is their product", field="ghz")
    if ask.ghz is not None and ask.flops_per_cycle is None and ask.cpu is None:
        raise UsageError("⟦ghz⟧ needs ⟦cpu⟧ or ⟦flops_per_cycle⟧ beside it: Rpeak is their product", field="cpu")
    return DescribedMachine(
        nodes=ask.nodes or 1,
        cores=ask.cores or 1,
        memory_bytes=parse_bytes(ask.memory or "", "memory"),
        network_gbit_s=network_gbit_s,
        cpu=cpu,
    )


def _check_ranks(ranks: int, machine: DescribedMachine) -> None:
    """Refuse ranks that cannot be spread evenly.

    Raises:
        UsageError: a node would get more of them than another, or than it has cores.
    """
    cores = machine.nodes * machine.cores
    if ranks % machine.nodes or ranks > cores:
        raise UsageError(
            f"{counted(machine.nodes, 'node')} of {counted(machine.cores, 'core')} take a multiple of {machine.nodes}, "
            f"at most {cores}",
            field="ranks",
            given=str(ranks),
        )


def _most_used(ask: DatAsk) -> float:
    """The part of the memory that matrix and panels may take: half of what the matrix leaves is for the system."""
    return (1 + ask.memory_fraction) / 2


def _too_little(ask: DatAsk, machine: DescribedMachine, least: HplParams) -> UsageError:
    """The refusal of a memory that holds no matrix.

    Args:
        least: has the smallest N that makes sense, with one block of the matrix or more on each rank.
    """
    here = least.ranks // machine.nodes
    matrix_bytes = DOUBLE * least.N**2 / machine.nodes
    needed_bytes = max(matrix_bytes / ask.memory_fraction, here * memory_bytes(least) / _most_used(ask))
    size, unit = (2**30, "GiB") if needed_bytes >= 10 * 2**30 else (2**20, "MiB")
    return UsageError(
        f"this is too little for {counted(here, 'rank')} on each node, each with a block of NB={least.NB}: write "
        f"{math.ceil(needed_bytes / size)}{unit} or more, or take a smaller NB or fewer ranks",
        field="memory",
        given=ask.memory,
    )


def _fitting(ask: DatAsk, machine: DescribedMachine, least: HplParams, params: HplParams) -> HplParams:
    """The parameters, with a smaller N where the panels beside the matrix would not fit.

    Args:
        least: has the smallest N that makes sense.

    Raises:
        UsageError: the N that was asked for does not fit, or none does.
    """
    part = 1.0 if ask.N else _most_used(ask)
    largest = n_that_fits(params, int(part * machine.memory_bytes) * machine.nodes)
    if largest == params.N:
        return params
    whole = largest // params.NB * params.NB
    if ask.N and largest:
        needed, there = sizes(params.ranks // machine.nodes * memory_bytes(params), machine.memory_bytes)
        raise UsageError(
            f"a node needs {needed} for it, but has {there}: the largest N that fits is {largest}",
            field="N",
            given=str(ask.N),
        )
    if not whole:
        raise _too_little(ask, machine, least)
    return replace(params, N=whole)


def _sizes(ask: DatAsk, machine: DescribedMachine, params: HplParams, here: int, *, panels: bool) -> Iterator[str]:
    """Why N, NB, ranks and grid are as they are.

    Args:
        panels: N is smaller for their sake.
    """
    memory = f"{counted(machine.nodes, 'node')} with {sizes(machine.memory_bytes)[0]} each"
    equally = "" if params.N % (params.NB * math.lcm(params.P, params.Q)) else ", equally many on all ranks"
    if ask.N:
        yield f"N={params.N}: as asked."
    else:
        takes, part = (
            ("its matrix and the panels beside it take", _most_used(ask))
            if panels
            else ("its matrix takes", ask.memory_fraction)
        )
        yield f"N={params.N}: {takes} at most {part:.0%} of {memory}, rounded down to whole blocks of NB{equally}."
    yield f"NB={params.NB}: " + _nb_reason(ask, machine)
    threads, idle = divmod(machine.cores, here)
    ranks = f"{counted(params.ranks, 'rank')}, {here} on each node with {counted(threads, 'thread')} each"
    why = "as asked." if ask.ranks else _layout_reason(machine, threads)
    if idle:
        why += (
            f" {machine.cores} cores do not divide into ranks with {counted(threads, 'thread')}: "
            f"{counted(idle, 'core')} of each node {'stays' if idle == 1 else 'stay'} idle."
        )
    yield f"{ranks}: {why}"
    yield f"P={params.P}, Q={params.Q}: " + _grid_reason(ask, machine, params)


def _nb_reason(ask: DatAsk, machine: DescribedMachine) -> str:
    if ask.NB:
        return "as asked."
    if machine.cpu is None:
        return "a middle value, since ⟦cpu⟧ is not given: the blocking of the BLAS follows from it."
    if machine.cpu.NB == NB_UNKNOWN:
        return f"a middle value, since the blocking of BLAS libraries on {machine.cpu.name} is not known."
    return f"the blocking of OpenBLAS' dgemm on {machine.cpu.name}, so that the update is as fast as dgemm."


def _layout_reason(machine: DescribedMachine, threads: int) -> str:
    speed = machine.gbit_s_per_core
    if threads == 1:
        return "one for each core."
    if machine.slow_network:
        return (
            f"the network has {speed:.2g} Gbit/s for each core, which is slow (below {SLOW_GBIT_S:g}), and fewer ranks "
            "send less."
        )
    why = f"up to {CACHE_CORES} cores often share an L3 cache or a NUMA node."
    if machine.cpu and machine.cpu.domain_cores:
        why = f"{machine.cpu.domain_cores} cores of {machine.cpu.name} share a NUMA node."
    return why if speed is None else f"{why} The network has {speed:.2g} Gbit/s for each core, which is not slow."


def _grid_reason(ask: DatAsk, machine: DescribedMachine, params: HplParams) -> str:
    if machine.slow_network and params.ranks > 1:
        smaller = (
            "." if process_grids(params.ranks)[0] == (params.P, params.Q) else ": behind a slow network P is smaller."
        )
        why = f"with {counted(params.ranks, 'rank')} this grid sends least, as 3 P + Q tells{smaller}"
    else:
        why = "the squarest grid with P <= Q."
    if not near_square(params.ranks):
        why += f" {counted(params.ranks, 'rank')} have no grid near a square, which is slow."
        fewer = replace(machine, nodes=max(machine.nodes - 1, 1))
        if not ask.ranks and fewer != machine and near_square(fewer.nodes * fewer.ranks_per_node):
            why += f" {counted(fewer.nodes, 'node')} may be faster."
    return why


def _rpeak_gflops(ask: DatAsk, machine: DescribedMachine) -> float | None:
    flops = ask.flops_per_cycle or (machine.cpu.core.flop_per_cycle if machine.cpu else None)
    return None if ask.ghz is None or flops is None else machine.nodes * machine.cores * ask.ghz * flops


def _rate(
    ask: DatAsk, machine: DescribedMachine, params: HplParams, rpeak_gflops: float | None
) -> _ExpectedRate | None:
    """The rate to expect; None where nothing tells it."""
    if ask.gflops is not None:
        return _ExpectedRate(ask.gflops, ask.gflops, f"at {four_digits(ask.gflops)} GFLOPS, as asked.")
    if rpeak_gflops is None:
        return None
    usual = machine.usual
    what = "clusters" if machine.nodes > 1 else "single machines"
    because = (
        f"half of the {usual.results} {what} in `hpltune known` reach {usual.low:.0%} to {usual.high:.0%} of Rpeak"
    )
    network_s = machine.network_s(params.N) if machine.slow_network else 0.0
    if network_s:
        because += f", and this network may add {duration(network_s)}"
    flop = flop_count(params.N) / 1e9
    slowest, fastest = (flop / (flop / (part * rpeak_gflops) + network_s) for part in (usual.low, usual.high))
    return _ExpectedRate(slowest, fastest, f"{because}.")


def _expected(ask: DatAsk, machine: DescribedMachine, params: HplParams, rpeak_gflops: float | None) -> Iterator[str]:
    if rpeak_gflops is not None:
        known = "as asked" if ask.flops_per_cycle or machine.cpu is None else machine.cpu.core.reasoning
        flops = rpeak_gflops / machine.nodes / machine.cores / (ask.ghz or 1.0)
        yield (
            f"Rpeak = {machine.nodes} x {machine.cores} cores x {ask.ghz:g} GHz x {flops:.0f} FLOP/cycle = "
            f"{rpeak_gflops:,.1f} GFLOPS. FLOP/cycle: {known}."
        )
    rate = _rate(ask, machine, params, rpeak_gflops)
    if rate is None:
        yield "The time is not known: it follows from ⟦gflops⟧, or from ⟦cpu⟧ and ⟦ghz⟧ together."
        return
    shortest, longest = (duration(seconds(params.N, one)) for one in (rate.fastest_gflops, rate.slowest_gflops))
    yield f"Expected time: {shortest if shortest == longest else f'{shortest} to {longest}'}; {rate.because}"


def _assumed(ask: DatAsk, machine: DescribedMachine, rpeak_gflops: float | None) -> Iterator[str]:
    """What was taken so, because it was not told, or could mean something else."""
    if rpeak_gflops is not None and machine.cpu and machine.cpu.core.efficiency and not ask.flops_per_cycle:
        yield (
            f"Caution: {machine.cpu.name} has smaller cores, too ({machine.cpu.core.efficiency}), and nothing tells "
            f"how many. All {machine.cores} count as the large ones, so Rpeak is {rpeak_gflops:,.1f} GFLOPS at most"
            f"{'.' if ask.gflops else ', and the time may be longer.'}"
        )
    if rpeak_gflops is not None and (ask.gflops or 0.0) > rpeak_gflops:
        yield f"Caution: {four_digits(ask.gflops or 0.0)} GFLOPS are more than Rpeak: one of both is wrong."
    if re.search(r"[kmgt]b\s*$", (ask.memory or "").lower()):
        there = sizes(machine.memory_bytes)[0]
        yield f"Memory: {ask.memory} is decimal, {there}. If the node has a round number of GiB, write it with GiB."
    if machine.nodes > 1 and machine.network_gbit_s is None:
        yield "Caution: ⟦network⟧ is not given, so the network counts as a fast one."


def _commands(machine: DescribedMachine, ranks: int, here: int) -> tuple[str, ...]:
    """How Open MPI and Slurm start this."""
    threads = machine.cores // here
    hosts = "--hostfile hosts " if machine.nodes > 1 else ""
    return (
        (
            f"mpirun -np {ranks} {hosts}--map-by ppr:{here}:node:PE={threads} --bind-to core "
            f"-x OMP_NUM_THREADS={threads} ./xhpl"
        ),
        f"OMP_NUM_THREADS={threads} srun -N {machine.nodes} --ntasks-per-node={here} --cpus-per-task={threads} ./xhpl",
    )
