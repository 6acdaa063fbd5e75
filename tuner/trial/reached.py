"""Holds what reached the ranks against the plan: variables, and the cores on which they may run. Pure functions."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from hpl.witness import RankSight

from ..words import counted, listed

LONGEST = 240
"""Characters of a value that the witness tells whole (`MOST_VALUE` of hpl/native/witness.c, less what it quotes)."""
TOLD = (
    "OMP_", "KMP_", "GOMP_", "GOTO_", "OPENBLAS_", "BLIS_", "MKL_", "UCX_", "FI_", "PSM2_", "NCCL_", "HPL_", "HIP_",
    "CUBLAS_", "NVSHMEM_", "ROCBLAS_", "OMPI_MCA_btl", "OMPI_MCA_pml", "OMPI_MCA_mtl", "OMPI_MCA_coll", "OMPI_MCA_mpi_",
)  # fmt: skip
"""Beginnings of the variables that ranks tell; the same list stands in `witness.c`."""
EACH_ITS_OWN = {"HIP_VISIBLE_DEVICES"}
"""What scripts set to another value on each rank on purpose."""


def unlike_the_plan(
    sights: Sequence[RankSight], planned: Mapping[str, str], cores: int, *, bound: bool
) -> tuple[str, ...]:
    """Return the sentences on what ranks got otherwise than planned; none where all is as it should be.

    Args:
        planned: variables of the ranks.
        cores: that each rank needs, one for each of its threads; 0 where ranks are to share cores.
        bound: whether each rank was to be bound to cores of its own.
    """
    shares = _cores(sights, cores, bound=bound) if cores else ()
    return (*_variables(sights, planned), *_between_ranks(sights, planned), *shares)


def _variables(sights: Sequence[RankSight], planned: Mapping[str, str]) -> Iterator[str]:
    for name, value in planned.items():
        if not name.startswith(TOLD) or len(value) > LONGEST or '"' in value or "\\" in value:
            continue
        others = [sight for sight in sights if sight.variables.get(name) != value.strip()]
        if not others:
            continue
        first = others[0]
        got = first.variables.get(name)
        how = "is not set" if got is None else f"is {got}"
        which = f"on rank {first.rank} of {first.host}"
        many = "" if len(sights) == 1 else f", as on {len(others)} of {counted(len(sights), 'rank')}"
        yield f"{name} {how} {which}, not {value} as planned{many}"


def _between_ranks(sights: Sequence[RankSight], planned: Mapping[str, str]) -> Iterator[str]:
    """Yield what differs between ranks though nobody planned it, as variables that a node's shell sets do."""
    names = sorted({name for sight in sights for name in sight.variables} - planned.keys() - EACH_ITS_OWN)
    for name in names:
        first = sights[0]
        other = next((one for one in sights if one.variables.get(name) != first.variables.get(name)), None)
        if other is not None:
            said = [f"{one.variables.get(name, 'not set')} on rank {one.rank} of {one.host}" for one in (first, other)]
            yield f"{name} differs between ranks: {' and '.join(said)}"


def _cores(sights: Sequence[RankSight], threads: int, *, bound: bool) -> Iterator[str]:
    known = sorted((sight for sight in sights if sight.cpus), key=lambda sight: (sight.host, sight.rank))
    for host, group in groupby(known, key=lambda sight: sight.host):
        ranks = list(group)
        few = next((sight for sight in ranks if len(sight.cpus) < threads), None)
        every = frozenset[int]().union(*(sight.cpus for sight in ranks))
        shared = _sharing(ranks) if bound else ()
        if few is not None:
            yield (
                f"rank {few.rank} of {host} may run on {counted(len(few.cpus), 'CPU')} only, and has "
                f"{counted(threads, 'thread')}"
            )
        elif shared:
            yield f"ranks {listed([str(rank) for rank in shared])} of {host} share a CPU, and each was to have its own"
        elif len(every) < len(ranks) * threads:
            yield (
                f"the {counted(len(ranks), 'rank')} of {host} may run on {counted(len(every), 'CPU')} only, and have "
                f"{counted(len(ranks) * threads, 'thread')}"
            )


def _sharing(ranks: Sequence[RankSight]) -> tuple[int, ...]:
    """Return the first two ranks that share a CPU."""
    owner: dict[int, int] = {}
    for sight in ranks:
        for cpu in sorted(sight.cpus):
            if cpu in owner:
                return owner[cpu], sight.rank
        owner |= dict.fromkeys(sight.cpus, sight.rank)
    return ()
