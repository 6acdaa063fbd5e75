"""Which configurations probably run at all, learnt from those that did not."""

import numpy as np

from .axes import Codes
from .scales import Vector


def chance_to_run(codes: Codes, ran: Codes, failed: Codes) -> Vector:
    """Of each configuration: by its worst value, the part of that value's runs that counted, one more added to both.

    A library that crashes is so avoided after a few runs, while a value that failed once beside one that always fails
    is hardly touched.

    Args:
        codes: value numbers of the configurations, shape (points, axes); `ran` and `failed` those of past runs.
    """
    chance = np.ones(len(codes))
    if not len(failed):
        return chance
    for axis in range(codes.shape[1]):
        values = int(codes[:, axis].max(initial=0)) + 1
        size = max(values, int(ran[:, axis].max(initial=0)) + 1, int(failed[:, axis].max(initial=0)) + 1)
        good = np.bincount(ran[:, axis], minlength=size)
        bad = np.bincount(failed[:, axis], minlength=size)
        chance = np.minimum(chance, ((good + 1) / (good + bad + 1))[codes[:, axis]])
    return chance
