"""What the slides of a talk print: Ford, "Linux Cluster Production Readiness" (IBM, 2005), on 484 blades.

Only small tables are here, each with the number of its slide. Pictures (slides 24 to 26, 58 to 60, 65 to 67, 73 to 75,
89 to 94 and 99) give no figures.
"""

from dataclasses import dataclass

NODES = tuple(f"node{number:03}" for number in range(1, 485))
CHASSIS = {node: f"BC{place // 14 + 1}" for place, node in enumerate(NODES)}
"""14 blades in each BladeCenter (slide 106)."""
OTHER_MEMORY = NODES[:84]
"""Nodes 1 to 84 have a different memory configuration (slide 100)."""


@dataclass(frozen=True)
class Printed:
    """A line of the talk's `anal`."""

    slide: int
    name: str
    count: int
    low: float
    high: float
    spread: float
    mean: float
    middle: float
    sd: float


STREAM = (
    Printed(54, "c.ppc64", 484, 2031.43, 2147.98, 5.74, 2077.03, 2069.02, 23.20),
    Printed(54, "c_omp.ppc64", 484, 1993.49, 2124.24, 6.56, 2050.00, 2050.51, 22.86),
    Printed(54, "f.ppc64", 484, 2007.16, 2092.68, 4.26, 2039.20, 2034.63, 17.87),
)
SERIAL = (
    Printed(57, "bt.B.ppc64", 484, 1077.69, 1099.28, 2.00, 1087.60, 1087.67, 4.67),
    Printed(57, "cg.B.ppc64", 484, 40.93, 45.30, 10.68, 41.94, 41.38, 1.31),
    Printed(57, "ep.B.ppc64", 484, 9.88, 10.07, 1.92, 9.96, 9.96, 0.04),
    Printed(57, "ft.B.ppc64", 484, 480.87, 503.33, 4.67, 487.07, 486.23, 3.71),
    Printed(57, "lu.B.ppc64", 484, 516.88, 579.25, 12.07, 543.08, 542.88, 12.46),
    Printed(57, "mg.B.ppc64", 484, 618.16, 654.23, 5.84, 638.31, 638.85, 6.76),
    Printed(57, "sp.B.ppc64", 484, 530.48, 556.67, 4.94, 541.01, 540.77, 3.99),
)
OPENMP = (
    Printed(64, "bt.B.ppc64", 484, 1850.99, 1898.65, 2.57, 1871.41, 1870.45, 9.25),
    Printed(64, "cg.B.ppc64", 484, 67.31, 73.30, 8.90, 68.96, 68.44, 1.49),
    Printed(64, "ep.B.ppc64", 484, 19.69, 20.36, 3.40, 19.88, 19.88, 0.09),
    Printed(64, "ft.B.ppc64", 484, 593.39, 615.77, 3.77, 604.74, 604.61, 4.06),
    Printed(64, "lu.B.ppc64", 484, 739.30, 820.71, 11.01, 773.09, 772.05, 16.76),
    Printed(64, "mg.B.ppc64", 484, 751.40, 819.38, 9.05, 792.03, 797.10, 15.26),
    Printed(64, "sp.B.ppc64", 484, 722.73, 824.39, 14.07, 745.99, 747.33, 8.51),
)
HPL = Printed(71, "xhpl.ppc64", 482, 11.62, 12.04, 3.61, 11.89, 11.89, 0.08)
HPL_WITHOUT = ("node215", "node224")
"""Excluded from HPL (slide 69): the first did not boot, the second had too little memory."""

FOUR = (
    Printed(22, "bt.A.i686", 4, 615.77, 632.08, 2.65, 627.85, 632.02, 8.06),
    Printed(22, "cg.A.i686", 4, 159.78, 225.08, 40.87, 191.05, 193.16, 26.86),
    Printed(22, "ep.A.i686", 4, 11.51, 11.53, 0.17, 11.52, 11.52, 0.01),
    Printed(22, "ft.A.i686", 4, 448.05, 448.90, 0.19, 448.63, 448.81, 0.39),
    Printed(22, "lu.A.i686", 4, 430.60, 436.59, 1.39, 433.87, 434.72, 2.51),
    Printed(22, "mg.A.i686", 4, 468.12, 472.54, 0.94, 470.86, 472.12, 2.00),
    Printed(22, "sp.A.i686", 4, 449.01, 449.87, 0.19, 449.58, 449.72, 0.39),
)
"""Four nodes: all four results follow from these figures."""

WITH_C = {"bt": (0.13, 0), "cg": (0.93, 0), "ep": (0.19, 0), "ft": (0.17, 0), "lu": (0.11, 2), "mg": (-0.50, 0),
          "sp": (-0.05, 27)}  # fmt: skip
"""Correlation of NPB serial with STREAM C, and the percent that chance gives it (slide 61)."""
STREAM_PAIRS = {("c", "c_omp"): 0.62, ("c", "f"): 0.89, ("f", "c_omp"): 0.64}
"""Slides 61 and 68."""
WITH_F = {"bt": (0.37, 0), "cg": (0.77, 0), "ep": (-0.07, 12), "ft": (-0.20, 0), "lu": (-0.29, 0), "mg": (-0.81, 0),
          "sp": (-0.65, 0)}  # fmt: skip
WITH_C_OMP = {"bt": (0.29, 0), "cg": (0.54, 0), "ep": (-0.03, 51), "ft": (-0.06, 19), "lu": (-0.20, 0),
              "mg": (-0.56, 0), "sp": (-0.44, 0)}  # fmt: skip
"""Of NPB OpenMP with STREAM F and STREAM C OMP (slide 68)."""

WRONG_STREAM = {"c_omp.ppc64": 1}
"""Runs of node483 that failed their check, of 10 (slide 53)."""
WRONG_SERIAL = {"bt": 5, "cg": 1, "ep": 1, "ft": 4, "lu": 1, "mg": 2, "sp": 5}
"""The same of 5 (slide 56)."""
WRONG_OPENMP = {"bt": 5, "ft": 5, "lu": 3, "mg": 5, "sp": 5}
"""The same of 5 (slide 63)."""
WRONG_HPL = 10
"""The same of 10 (slide 70)."""

MYRINET = {
    "sorted": Printed(76, "sort", 242, 87.62, 234.93, 168.12, 232.49, 233.43, 9.38),
    "cut": Printed(76, "cut", 242, 87.13, 234.99, 169.70, 232.16, 233.15, 9.40),
    "fold": Printed(76, "fold", 242, 87.17, 235.04, 169.63, 232.13, 233.16, 9.39),
    "shuffle": Printed(76, "shuffle", 242, 87.61, 234.77, 167.97, 232.14, 232.70, 9.36),
}
MYRINET_LOWEST = {
    "sorted": "87.62 405-406 228.64 039-040 231.64 231-232 231.66 091-092 231.66 481-482",
    "cut": "87.13 164-406 230.95 107-349 231.36 147-389 231.41 091-333 231.43 045-287",
    "fold": "87.17 079-406 227.58 214-271 229.34 010-475 231.40 091-394 231.48 177-308",
    "shuffle": "87.61 024-406 231.47 091-166 231.51 227-003 231.55 110-293 231.57 013-231",
}
"""The slowest pairs, rate and nodes (slide 77)."""
MYRINET_AT_ONCE = Printed(78, "cut", 242, 60.28, 233.44, 287.26, 138.94, 137.92, 36.87)

IP = {
    "sorted": Printed(79, "sort", 241, 60.76, 101.76, 67.48, 99.91, 100.26, 3.53),
    "cut": Printed(79, "cut", 241, 45.54, 89.88, 97.36, 86.96, 88.60, 6.58),
    "fold": Printed(79, "fold", 241, 50.91, 100.60, 97.60, 87.33, 88.48, 6.30),
    "shuffle": Printed(79, "shuffle", 241, 49.31, 100.71, 104.24, 87.26, 88.53, 6.72),
}
IP_WITHOUT = ("node215", "node216")
"""Two of the 484 are missing. The slides name node215; the pairs printed need another of nodes 177 to 223."""
IP_LOWEST = {
    "sorted": "60.76 025-026 68.97 023-024 79.97 325-326 98.83 067-068 98.85 071-072 98.94 337-338 98.98 175-176 "
    "99.02 031-032 99.11 401-402 99.16 085-086",
    "cut": "45.54 025-268 50.47 026-269 54.85 024-267 56.27 002-245 57.08 022-265 58.50 023-266 62.74 020-263 "
    "69.37 016-259 69.48 015-258 69.56 021-264 69.73 018-261 71.06 028-271 71.42 019-262 71.45 042-285 72.06 027-270 "
    "72.31 017-260 84.69 224-465 86.40 225-466 87.10 001-244 87.54 084-327",
    "fold": "50.91 026-459 51.72 023-462 55.32 002-483 58.39 025-460 60.24 024-461 65.66 018-467 68.09 022-463 "
    "68.28 020-465 69.96 021-464 70.23 015-470 70.27 016-469 70.61 019-466 71.12 027-458 71.50 017-468 74.35 028-457 "
    "84.75 235-252 85.02 236-251 85.79 237-250 85.94 238-249 87.19 118-367",
    "shuffle": "49.31 001-126 49.46 029-026 51.25 024-063 56.34 274-025 58.14 023-100 68.00 019-248 68.67 443-015 "
    "68.88 018-228 69.29 020-091 69.38 028-240 70.68 022-102 70.80 027-106 71.63 021-423 71.96 291-017 72.52 460-411 "
    "72.66 016-040 78.61 031-011 83.85 041-050 84.82 407-393 85.08 420-399",
}
"""The slowest pairs (slides 80 to 83)."""
IP_AT_ONCE = Printed(84, "cut", 241, 6.18, 17.36, 180.91, 7.95, 7.28, 1.82)


def pairs_printed(text: str) -> list[tuple[float, str, str]]:
    """Read "rate one-other rate one-other …"."""
    words = text.split()
    return [
        (float(rate), *(f"node{number}" for number in pair.split("-")))  # type: ignore[misc]
        for rate, pair in zip(words[::2], words[1::2], strict=True)
    ]
