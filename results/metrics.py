"""Figures of merit, as pure functions; an impossible value raises a ValueError that shows it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from hpl.sizing import flop_count, fraction_done

from .record import TrialRecord, TrialState


def rate_text(gflops: float) -> str:
    """Write a rate with two decimals, and one below 0.1 GFLOPS with two digits that say something: "0.0084"."""
    if gflops <= 0 or gflops >= 0.1:
        return f"{gflops:.2f}"
    return f"{gflops:.{1 - math.floor(math.log10(gflops))}f}"


def four_digits(value: float) -> str:
    """Write a figure with four digits that say something, and commas between thousands: "171.7", "263,700"."""
    rounded = float(f"{value:.4g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 1000 else f"{rounded:.4g}"


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name} = {value}: expected a finite value above zero")


def percent_of_peak(gflops: float, rpeak_gflops: float) -> float:
    """Return Rmax in percent of Rpeak; above 100 if the clock ran faster than the clock of Rpeak.

    Raises:
        ValueError: a value is not finite or not above zero.
    """
    _positive(gflops=gflops, rpeak_gflops=rpeak_gflops)
    return 100.0 * gflops / rpeak_gflops


def usd_per_gflops(price_usd: float, gflops: float) -> float:
    """Return the price of the machine in US dollars per GFLOPS.

    Raises:
        ValueError: a value is not finite or not above zero.
    """
    _positive(price_usd=price_usd, gflops=gflops)
    return price_usd / gflops


def mflops_per_watt(gflops: float, power_w: float) -> float:
    """Return the rate in MFLOPS per watt under load, the unit of the Green500.

    Raises:
        ValueError: a value is not finite or not above zero.
    """
    _positive(gflops=gflops, power_w=power_w)
    return 1000.0 * gflops / power_w


MOST_MFLOPS_PER_WATT = 100_000.0
"""More than any machine reaches: the first of the Green500 has 73,282 (November 2025)."""


def too_efficient(mflops_per_watt: float) -> str:
    """Say that a power cannot be that of the machine; "" where it can."""
    if mflops_per_watt <= MOST_MFLOPS_PER_WATT:
        return ""
    return (
        f"{mflops_per_watt:,.0f} MFLOPS/W are more than any machine reaches (the Green500's first has about 73,000): "
        "the power is not that of the whole machine in watts. Look at the unit of the meter."
    )


POWER = "_power_w"
"""Ends the name of what a source measured: "rapl_power_w"."""


def measured_watts(measurements: Mapping[str, float]) -> dict[str, float]:
    """Return the mean power of a run in watts by the source that measured it."""
    told = {name.removesuffix(POWER): value for name, value in measurements.items() if name.endswith(POWER)}
    return {name: value for name, value in told.items() if math.isfinite(value) and value > 0}


def power_by(watts: Mapping[str, float], source: str) -> float | None:
    """Return the power in watts by one source, or a sum of them as "rapl+nvml"; None where one of them told nothing."""
    told = [watts.get(name) for name in source.split("+")]
    known = [value for value in told if value is not None]
    return sum(known) if len(known) == len(told) else None


@dataclass(frozen=True)
class Merit:
    """The figures of merit of a rate; None where the machine's peak, price or power is not known."""

    percent_of_peak: float | None
    usd_per_gflops: float | None
    mflops_per_watt: float | None


def merit(
    gflops: float,
    *,
    rpeak_gflops: float | None = None,
    price_usd: float | None = None,
    power_w: float | None = None,
) -> Merit:
    """Compute all known figures of merit of a rate.

    Raises:
        ValueError: a given value is not finite or not above zero.
    """
    return Merit(
        None if rpeak_gflops is None else percent_of_peak(gflops, rpeak_gflops),
        None if price_usd is None else usd_per_gflops(price_usd, gflops),
        None if power_w is None else mflops_per_watt(gflops, power_w),
    )


def prefix_gflops(record: TrialRecord) -> float | None:
    """Return the rate of a run until it was stopped, in GFLOPS; None if it failed.

    Where no part of the columns was worked off (`updated_part`), all that it began count.
    """
    if record.state is not TrialState.COMPLETE or record.hpl is None or not record.time_s:
        return None
    N, part = record.hpl.N, updated_part(record) or record.part
    return fraction_done(N, round(part * N)) * flop_count(N) / record.time_s / 1e9


def updated_part(record: TrialRecord) -> float:
    """Return the part of the columns by which a run that was stopped had updated the whole matrix.

    With a look-ahead, the last DEPTH panels that it began have updated next to nothing yet (HPL_pdgesvK1.c, K2.c).
    """
    ahead = record.hpl.DEPTH * record.hpl.NB / record.hpl.N if record.hpl and record.part < 1 else 0.0
    return max(0.0, record.part - ahead)
