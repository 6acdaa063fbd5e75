"""What a campaign may take, as far as its document tells before it begins."""

from dataclasses import dataclass


@dataclass(frozen=True)
class CampaignEstimate:
    """What a campaign may take.

    Attributes:
        limits: what ends it, in words.
        longest_s: seconds by the clock after which it begins no more trials; None where time by the clock ends nothing.
        machine_s: the same in time of the machine that is tuned, which a simulation does not wait for.
        usd_per_hour: what that machine costs; None where neither its price nor its power is known.
        simulated: it is a virtual cluster.
    """

    limits: str
    longest_s: float | None = None
    machine_s: float | None = None
    usd_per_hour: float | None = None
    simulated: bool = False

    @property
    def usd(self) -> float | None:
        """What the campaign may cost; None where that is not known."""
        if self.machine_s is None or self.usd_per_hour is None:
            return None
        return self.machine_s / 3600.0 * self.usd_per_hour


@dataclass(frozen=True)
class SpaceSize:
    """How many combinations a campaign chooses from.

    Attributes:
        points: valid ones on its machine; None where only its nodes can tell.
        cautions: sentences on what may be other than expected.
    """

    points: int | None = None
    cautions: tuple[str, ...] = ()
