"""What tells the trials of a study from one another, in so few words that a line holds them."""

from collections.abc import Collection, Mapping
from dataclasses import fields

from hpl import variant
from hpl.params import HplParams, Scalar
from search_spaces.space import SearchSpace

NAMED = frozenset({"N", "NB", "grid", "layout", "blas", "kernel", "mpi", "memory_fraction"})
"""What a trial's label says anyway."""
CODED = tuple(field.name for field in fields(variant.Variant))
"""What HPL's own T/V code says."""
FEW = 2
"""So many of these are named; more of them are told by the code."""


def varying_label(params: Mapping[str, Scalar], varying: Collection[str]) -> str:
    """What a complete point has of the parameters that vary in its study and that its label does not say.

    HPL's own T/V code stands for those in it, where they are more than two.
    """
    shown = [name for name in varying if name not in NAMED and name in params]
    code = ""
    if _needs_code(shown):
        code = variant.encode(HplParams.from_words(params))
        shown = [name for name in shown if name not in CODED]
    words = [f"{name.removeprefix('net.')}={params[name]}" for name in shown]
    return " ".join([code, *words] if code else words)


def legend(space: SearchSpace) -> str | None:
    """The sentence that explains the code, or None where `varying_label` does not use it."""
    if not _needs_code(space.varying):
        return None
    run = HplParams.from_words(space.first)
    words = run.words()
    meant = " ".join(f"{name}={words[name]}" for name in CODED)
    return f"HPL's own codes stand in the lines of trials: {variant.encode(run)}, for example, means {meant}."


def _needs_code(names: Collection[str]) -> bool:
    return sum(name in CODED for name in names) > FEW
