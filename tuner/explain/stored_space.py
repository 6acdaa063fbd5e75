"""Reads a stored study: its trials, and its space on the machine that it ran on."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from hpl.programs.registry import terms_of
from hpl.programs.terms import Gpu, NodeShape
from results.record import Kind, Study, TrialRecord
from results.store.store import Store
from runners.virtual.cluster import VirtualCluster
from search_spaces.load import load
from search_spaces.machine import BlasFacts, Machine
from search_spaces.parameters.dimension import ranks_and_threads
from search_spaces.space import SearchSpace

from ..errors import TunerError
from ..machine.equipment import GPUS, PROGRAM, host_count
from ..options import TuneOptions
from ..replay.table import ReplayTable
from ..replay.tune import read_table
from ..simulation.cluster import cluster_from
from ..simulation.known import simulated_space
from ..study.names import SEARCHED, newest_search

EXPLAINED = SEARCHED | {Kind.REFERENCE, Kind.CONFIRMATION}
"""Kinds of trials that tell something: the repeats are what tells the noise."""


def searched(store: Store, name: str | None) -> tuple[Study, list[TrialRecord]]:
    """A study, by default the newest search, and its trials that can explain something.

    Raises:
        TunerError: there is nothing to explain.
        ResultsError: there is no such study.
    """
    study = store.study(name) if name else newest_search(store, "to explain")
    return study, telling(study, store.records(study.name))


def telling(study: Study, records: Sequence[TrialRecord]) -> list[TrialRecord]:
    """The trials of a study that can explain something.

    Raises:
        TunerError: there is none.
    """
    if not study.space_text:
        unsearched = "was imported, and has no search space" if study.imported else "only measured a file"
        raise TunerError(f"study {study.name} {unsearched}: there is nothing to explain")
    if not study.workload.is_hpl:
        known = "what matters is told by a model of HPL's time"
        raise TunerError(f"study {study.name} is of {study.workload.title}, and {known}: there is nothing to explain")
    found = [record for record in records if record.kind in EXPLAINED]
    if not found:
        raise TunerError(f"study {study.name} has no search trial yet: there is nothing to explain")
    return found


def cluster_of(study: Study) -> VirtualCluster | None:
    """The virtual cluster that was stored with a study; None where it ran on a real machine.

    Raises:
        runners.toml_file.ClusterFileError: it cannot be used any more.
    """
    cluster = TuneOptions.from_json(dict(study.options)).cluster
    return None if cluster is None else cluster_from(cluster)


def table_of(study: Study) -> ReplayTable | None:
    """The table that a study replays; None where it replays none, or the table is gone or was changed."""
    replay = TuneOptions.from_json(dict(study.options)).replay
    if replay is None:
        return None
    try:
        return read_table(replay)
    except TunerError:
        return None


def stored_space(study: Study, records: Sequence[TrialRecord]) -> SearchSpace:
    """The space of a study on its virtual cluster or table, or on a machine that is rebuilt from its trials."""
    cluster, N = cluster_of(study), max(int(record.params["N"]) for record in records)
    overrides = TuneOptions.from_json(dict(study.options)).overrides or {}
    table = table_of(study)
    if table:
        return table.space(study.space_name, overrides, study.space_text)
    if cluster:
        return simulated_space(study.space_name, cluster, N, overrides, study.space_text)
    return load(study.space_name, _machine(study, records, N), overrides, study.space_text)


def _machine(study: Study, records: Sequence[TrialRecord], N: int) -> Machine:
    families = study.host.get(PROGRAM)
    if not isinstance(families, Mapping):
        return _with(study, records, records, N, families)
    own = {name: [record for record in records if record.params.get(PROGRAM) == name] for name in families}
    seen = {name: _with(study, records, own[name], N, families[name]) for name in families if own[name]}
    return replace(_with(study, records, records, N, None), programs=seen)


def _with(study: Study, records: Sequence[TrialRecord], own: Sequence[TrialRecord], N: int, family: object) -> Machine:
    """The machine of a study as one program saw it, whose own trials are given."""
    host = study.host
    sockets, numa_nodes, l3_caches = (
        count if isinstance(count := host.get(name), int) else 1 for name in ("sockets", "numa_nodes", "l3_caches")
    )
    listed = host.get(GPUS)
    gpus = tuple(Gpu(**gpu) for gpu in listed) if isinstance(listed, list) else ()
    return Machine(
        cores=max(prod(ranks_and_threads(record.params["layout"])) for record in records),
        memory_bytes=_memory_bytes(study.host),
        blas=_blas(own),
        N=N,
        nodes=1 if study.simulated else host_count(study.host, "nodes"),
        mpis=_seen(records, "mpi") or Machine.mpis,
        terms=terms_of(family),
        shape=NodeShape(0, sockets, numa_nodes, l3_caches, gpus),
    )


def _blas(records: Sequence[TrialRecord]) -> dict[str, BlasFacts]:
    """The libraries with the kernels that were tried; a library has threads where a trial of it had."""
    found = {}
    for name in _seen(records, "blas"):
        own = [record for record in records if record.params["blas"] == name]
        threaded = any(ranks_and_threads(record.params["layout"])[1] > 1 for record in own)
        kernels = _seen(own, "kernel") or ("auto",)
        found[name] = BlasFacts(kernels, threaded=threaded, usual_kernel=kernels[0])
    return found


def _seen(records: Sequence[TrialRecord], name: str) -> tuple[str, ...]:
    """The values that trials had of a parameter, in the order of their first use."""
    return tuple(dict.fromkeys(str(record.params[name]) for record in records if name in record.params))


def _memory_bytes(host: Mapping[str, object]) -> int:
    known = host.get("memory_available_bytes") or host.get("memory_bytes")
    return int(known) if isinstance(known, int | float) else 2**62
