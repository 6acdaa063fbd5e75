"""Why a rate can be above Rpeak: the sentences that stand wherever more than 100 % of peak is shown."""

import math
from collections.abc import Iterable, Mapping, Sequence

from hpl.blas.probe import Probe
from hpl.rpeak import Rpeak
from results.record import Study

CORE_DGEMM, CORE_RPEAK = "core_dgemm_gflops", "core_rpeak_gflops"
"""What a study keeps of its machine: GFLOPS of the fastest dgemm on one core, and Rpeak of such a core."""

_OF_TABLE = "the table that is replayed has rates above the Rpeak that is known"
_OF_MODEL = "the model of this virtual cluster computes faster than its clock_ghz and flops_per_cycle allow"


def fastest_dgemm_gflops(probes: Mapping[str, Sequence[Probe]]) -> float:
    """The rate of the fastest dgemm that was timed on one core; 0 if none was."""
    return max((probe.gflops for timed in probes.values() for probe in timed), default=0.0)


def ceiling_of(study: Study) -> float:
    """The rate that no run of a study can exceed: Rpeak, or dgemm on one core times all cores; infinite if unknown."""
    dgemm, cores = (_number(study.host.get(name)) for name in (CORE_DGEMM, "physical_cores"))
    return max(study.rpeak_gflops or 0.0, dgemm * cores) or math.inf


def peak_of(study: Study) -> float | None:
    """The rate of which a study's rates are percents: Rpeak; where dgemm is faster than that, dgemm on all cores."""
    dgemm, core = (_number(study.host.get(name)) for name in (CORE_DGEMM, CORE_RPEAK))
    too_low = 0 < core < dgemm and not (study.simulated or study.options.get("rpeak_gflops") or _of_cluster_file(study))
    return study.rpeak_gflops * dgemm / core if study.rpeak_gflops and too_low else study.rpeak_gflops


def peak_words(study: Study) -> str:
    """What the percents of a study's rates are of."""
    return "Rpeak" if peak_of(study) == study.rpeak_gflops else "what dgemm does on all cores"


def dgemm_beats_peak(rpeak: Rpeak, dgemm_gflops: float) -> str | None:
    """The sentence that Rpeak is too low, without a full stop; None if dgemm on one core stays below it.

    Args:
        dgemm_gflops: rate of the fastest kernel on one core; 0 if none was timed.
    """
    return _too_low(rpeak.core_gflops, dgemm_gflops) if dgemm_gflops > rpeak.core_gflops else None


def above_peak(study: Study, percents: Iterable[float | None]) -> str | None:
    """One sentence why figures of a study are above 100 % of peak, or not of Rpeak; None where neither is so.

    A caution of the study that says why is not repeated.

    Args:
        percents: of `peak_of`; None for an unknown one.
    """
    known, peak = [percent for percent in percents if percent is not None], peak_of(study)
    if known and peak and peak != study.rpeak_gflops:
        why = "" if _why(study) in {one.text for one in study.notes.cautions} else f" {_why(study)}."
        return f"% of peak is of {peak:.1f} GFLOPS, {peak_words(study)}, and not of Rpeak.{why}"
    return _reason(known, _why(study))


def model_above_peak(percent: float | None) -> str | None:
    """One sentence why a simulated figure is above 100 % of its cluster's peak; None if it is not."""
    return _reason([percent], _OF_MODEL)


def _reason(percents: Iterable[float | None], why: str) -> str | None:
    above = any(percent is not None and percent > 100 for percent in percents)
    return f"More than 100 % of peak: {why}." if above else None


def _why(study: Study) -> str:
    dgemm, rpeak = (_number(study.host.get(name)) for name in (CORE_DGEMM, CORE_RPEAK))
    if study.options.get("rpeak_gflops"):
        return (
            f"the Rpeak given with ⟦rpeak⟧ ({study.options['rpeak_gflops']:g} GFLOPS) may be too low for this machine"
        )
    if study.simulated:
        return _OF_TABLE if study.replayed else _OF_MODEL
    if _of_cluster_file(study):
        return "rpeak_gflops under [node] of the cluster file may be too low for these nodes"
    if dgemm > rpeak > 0:
        return _too_low(rpeak, dgemm)
    if study.host.get("hypervisor"):
        return "Rpeak counts the clock that this virtual machine shows; the real clock may be higher"
    return "Rpeak counts the advertised clock; the CPU may have run at a higher one (turbo)"


def _too_low(rpeak_gflops: float, dgemm_gflops: float) -> str:
    return (
        f"Rpeak is too low: it counts {rpeak_gflops:.1f} GFLOPS for one core, but dgemm reaches {dgemm_gflops:.1f} on "
        "one core; the real clock may be higher than the one shown, or the shown CPU model not the real one: give the "
        "real peak with ⟦rpeak⟧"
    )


def _of_cluster_file(study: Study) -> bool:
    cluster = study.options.get("real_cluster")
    node = cluster.get("node") if isinstance(cluster, Mapping) else None
    return isinstance(node, Mapping) and bool(node.get("rpeak_gflops"))


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
