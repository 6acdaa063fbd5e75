"""Checks of the memory: swap, huge pages, and the channels to it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..words import counted
from .contract import NodeView, Spoiler, notes, warns

SWAPPED = 0.01
"""Part of the memory from which on used swap space is told: less was pushed out long ago, and nobody misses it."""
CHANNEL_BYTES = 8
"""Bytes that a channel of DDR memory moves at once (JEDEC: 64 data lines)."""
LOW = 0.4
"""Part of what the channels give below which the measured rate is told: STREAM's triad usually reaches 60 to 90 %, of
which it counts three quarters where the CPU reads what it overwrites (https://www.cs.virginia.edu/stream/ref.html)."""
SLOTS = "memory_slots"
_SPEED = re.compile(r"(\d{3,5}) MT/s")
_EDAC = re.compile(r"(mc\d{1,3}) [^;]*?channel (\d{1,3})[^;]* of [^;]*?channel (\d{1,3})")
_SLOT = re.compile(r"(filled|empty) ([^;/]{0,80}) / ([^;]{0,80})")
_CHANNEL = re.compile(r"(?:channel|chan)[\s_-]*([a-z]|\d{1,2})(?![a-z])", re.IGNORECASE)
_DIMM_LETTER = re.compile(r"(?:^|[_-])DIMM[_ ]?([A-Z])\d?$", re.IGNORECASE)
_SOCKET = re.compile(r"(?:^|[_ ])(?:P|CPU|NODE|PROC)[ _]?(\d{1,2})", re.IGNORECASE)


def swap(view: NodeView) -> Iterator[Spoiler]:
    """Yield that memory was pushed out to swap space."""
    used_gib, memory_gib = view.number("swap_used_gib"), view.number("memory_gib")
    if used_gib and memory_gib and used_gib > SWAPPED * memory_gib:
        yield warns(f"{used_gib:.4g} GiB of swap space are used: what is pushed out comes back while runs wait")


def huge_pages(view: NodeView) -> Iterator[Spoiler]:
    """Yield that the kernel gives no huge pages by itself."""
    if view.text("transparent_huge_pages") == "never":
        yield warns("transparent huge pages are off (never): a matrix of gigabytes then has a page for each 4 KiB")


def channels(view: NodeView) -> Iterator[Spoiler]:
    """Yield that only a part of the memory's channels is filled."""
    found = filled_channels(view.facts)
    if found is None:
        return
    filled, present = found
    if filled == 1 and present > 1:
        yield warns(f"only one of {present} memory channels is filled: the memory gives a part of its rate")
    elif filled < present:
        yield notes(f"{filled} of {counted(present, 'memory channel')} are filled")


def bandwidth(view: NodeView) -> Iterator[Spoiler]:
    """Yield that the memory is much slower than its channels."""
    rate = channel_rate(view.facts, view.memory_gb_s)
    if rate is not None and rate.percent < 100.0 * LOW:
        yield warns(
            f"STREAM's triad moves {rate.measured_gb_s:.3g} GB/s, {rate.percent:.0f} % of the {rate.gives_gb_s:.3g} "
            "GB/s of the memory channels"
        )


@dataclass(frozen=True)
class ChannelRate:
    """The rate of a memory beside what its channels give.

    Attributes:
        filled, present: channels.
        gives_gb_s: what the filled ones give at the speed of their modules.
        measured_gb_s: by STREAM's triad on all cores.
    """

    filled: int
    present: int
    gives_gb_s: float
    measured_gb_s: float

    @property
    def percent(self) -> float:
        """Return the measured rate in percent of what the filled channels give."""
        return 100.0 * self.measured_gb_s / self.gives_gb_s


def channel_rate(facts: Mapping[str, str], measured_gb_s: float | None) -> ChannelRate | None:
    """Hold a measured rate against what the channels give; None where one of both is not known."""
    found, gives_gb_s = filled_channels(facts), channels_gb_s(facts)
    if found is None or not gives_gb_s or measured_gb_s is None:
        return None
    return ChannelRate(*found, gives_gb_s, measured_gb_s)


def filled_channels(facts: Mapping[str, str]) -> tuple[int, int] | None:
    """Return how many channels of the memory are filled, and how many there are.

    The kernel tells them where it drives error correction (EDAC), else the firmware's names of slots (dmidecode, for
    root). Names without a channel tell only that a single slot of several is filled.

    Returns:
        None where they are not told.
    """
    places = _EDAC.findall(facts.get("memory_places", ""))
    if places:
        filled = {(controller, channel) for controller, channel, _ in places}
        present = {controller: int(last) + 1 for controller, _, last in places}
        return len(filled), max(len(filled), sum(present.values()))
    slots = [(state == "filled", _channel(place, bank)) for state, place, bank in _SLOT.findall(facts.get(SLOTS, ""))]
    full = {channel for is_full, channel in slots if is_full}
    if full and all(channel for _, channel in slots):
        return len(full), len({channel for _, channel in slots})
    return (1, 2) if sum(is_full for is_full, _ in slots) == 1 < len(slots) else None


def channels_gb_s(facts: Mapping[str, str]) -> float | None:
    """Return what the filled channels give, in GB/s; None where their number or their speed is not told."""
    found, speed = filled_channels(facts), _SPEED.match(facts.get("dimm_speed", ""))
    if found is None or speed is None:
        return None
    return found[0] * int(speed[1]) * CHANNEL_BYTES / 1000.0


def _channel(place: str, bank: str) -> str:
    """Name the channel of a slot, such as "A" or "0 B" with its socket; "" where its names tell none."""
    for text in (bank, place):
        match = _CHANNEL.search(text) or _DIMM_LETTER.search(text.strip())
        if match:
            socket = _SOCKET.search(bank) or _SOCKET.search(place)
            return f"{socket[1] if socket else ''} {match[1].upper()}".strip()
    return ""
