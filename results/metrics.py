"""Figures of merit. Pure functions; a value that makes no sense is a ValueError that shows it."""


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not value > 0:
            raise ValueError(f"{name} = {value}: expected a value above zero")


def percent_of_peak(gflops: float, rpeak_gflops: float) -> float:
    """Rmax in percent of Rpeak."""
    _positive(gflops=gflops, rpeak_gflops=rpeak_gflops)
    return 100.0 * gflops / rpeak_gflops


def usd_per_gflops(price_usd: float, gflops: float) -> float:
    """Price of the machine for each GFLOPS it reached."""
    _positive(price_usd=price_usd, gflops=gflops)
    return price_usd / gflops


def mflops_per_watt(gflops: float, power_w: float) -> float:
    """Rate for each watt under load, in the unit of the Green500."""
    _positive(gflops=gflops, power_w=power_w)
    return 1000.0 * gflops / power_w
