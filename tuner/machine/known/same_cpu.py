"""Finds the published results of a CPU. A CPU that says less than its exact model matches none."""

import re
from collections.abc import Iterable

from .known_machines import KnownMachine

BOARDS = {
    "raspberry pi 5": "broadcom bcm2712",
    "raspberry pi compute module 5": "broadcom bcm2712",
    "raspberry pi 4": "broadcom bcm2711",
    "raspberry pi compute module 4": "broadcom bcm2711",
    "raspberry pi 3 model b plus": "broadcom bcm2837b0",
    "raspberry pi 3 model b": "broadcom bcm2837",
    "raspberry pi model b": "broadcom bcm2835",
    "raspberry pi zero 2": "broadcom rp3a0",
}
"""The CPU of a board whose kernel names the board only; 500 and 400 begin as 5 and 4 do and have the same CPU."""
_MARKS = re.compile(r"\((?:r|tm|c)\)|®|™", re.IGNORECASE)
_BEHIND = re.compile(r"\s(?:@|w/|with\s|\d+-core\b|(?:six|eight|quad|dual)-core\b).*", re.IGNORECASE)
_GENERATION = re.compile(r"^\d+th gen\s", re.IGNORECASE)
_NOISE = re.compile(r"\b(?:cpu|processor)\b", re.IGNORECASE)
_BEFORE = re.compile(r"^(?:\d+ ?x )?(?:(?:intel|amd) )?")


def cpu_key(model: str) -> str:
    """Return what identifies a CPU: "xeon e5-2680 v4" for "Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz".

    A user's "2 x Xeon E5-2680 v4" is the same. "" where no model is named, as by virtual machines that show
    "Intel(R) Xeon(R) Processor".
    """
    plain = " ".join(_MARKS.sub(" ", model).split()).replace("Core 2", "Core2")
    bare = _NOISE.sub(" ", _BEHIND.sub("", _GENERATION.sub("", plain)))
    key = _BEFORE.sub("", re.sub(r" 0$", "", " ".join(bare.casefold().split())))
    for board, cpu in BOARDS.items():
        if key.startswith(board):
            return cpu
    return key if re.search(r"\d", key) else ""


def same_cpu(model: str, machines: Iterable[KnownMachine]) -> tuple[KnownMachine, ...]:
    """Return the published results of exactly this CPU.

    Args:
        model: as the kernel names it.
    """
    key = cpu_key(model)
    return tuple(machine for machine in machines if key and cpu_key(machine.cpu) == key)


def same_cluster(name: str, rpeak_gflops: float, machines: Iterable[KnownMachine]) -> tuple[KnownMachine, ...]:
    """Return the published results of a cluster: the name and Rpeak must be the same, because names are not unique."""
    return tuple(
        machine
        for machine in machines
        if machine.machine.casefold() == name.casefold()
        and machine.rpeak_gflops is not None
        and abs(rpeak_gflops / machine.rpeak_gflops - 1) < 0.01
    )
