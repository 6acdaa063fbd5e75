"""Words for people: counts with their noun, lists with an "and"."""

from collections.abc import Sequence


def counted(count: int, noun: str) -> str:
    """A number with its noun, which takes an s unless there is one of it: "1 kernel", "12 kernels"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def listed(names: Sequence[str]) -> str:
    """Names as a sentence has them: "atlas", "atlas and blis", "atlas, blis and mkl"."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
