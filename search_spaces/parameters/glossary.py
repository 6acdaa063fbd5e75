"""Explains each parameter and when it matters, in one or two sentences for people who have never tuned HPL.

The sources are HPL's pages (https://www.netlib.org/benchmark/hpl/: algorithm, tuning) and its source code, whose
functions `hpl.canonical` names. `explain` shows the entries that matter in a study, docs/glossary.md shows all.
"""

from collections.abc import Mapping

GLOSSARY: Mapping[str, str] = {
    "N": (
        "Number of equations. The work grows with N^3 and the messages only with N^2, so a larger N is faster "
        "until the memory is full (8 N^2 bytes)."
    ),
    "memory_fraction": (
        "Part of the free memory that the matrix may fill; it gives N. HPL-MxP keeps 4 N^2 bytes on the GPUs, and its "
        "best N need not be the largest."
    ),
    "NB": (
        "Columns in a block: HPL factors and sends so many at a time. Small blocks slow dgemm; large blocks leave"
        " some ranks idle near the end."
    ),
    "grid": (
        "P x Q: the ranks stand in P rows and Q columns. Rows are exchanged within a column of ranks, panels are "
        "sent along a row of ranks, so the best shape depends on the network."
    ),
    "layout": (
        "Ranks x threads: how many processes start, and how many cores each one uses. More threads mean fewer "
        "messages, but only a threaded BLAS can use them."
    ),
    "mpi": "The MPI library that carries the messages. It matters most for small messages and between nodes.",
    "blas": (
        "The library that does the arithmetic. Most of HPL's arithmetic is its dgemm, so this often matters most."
    ),
    "kernel": (
        "The part of the BLAS that is written for one kind of CPU. A library that does not know the CPU may "
        "choose a slow kernel."
    ),
    "BCAST": (
        "The way a factored panel travels along a row of ranks: in one ring (1rg), in two rings (2rg), or cut in "
        "pieces (Lng); M means that the next rank to work gets it first. It matters on slow networks and with "
        "many columns of ranks. bc6 and bc7 are the broadcasts 6 and 7 of vendors' programs, which netlib's HPL lacks."
    ),
    "DEPTH": (
        "Look-ahead. With 1, HPL factors and sends the next panel before it finishes the update with this one, so"
        " that ranks wait less for messages; with 0 it does one after the other."
    ),
    "SWAP": (
        "The way rows are exchanged within a column of ranks: bin sends few messages, long sends less data, mix "
        "uses bin for narrow blocks. It has no effect with one row of ranks (P = 1)."
    ),
    "swap_threshold": ("Number of columns up to which SWAP = mix uses bin. It has no effect with another SWAP."),
    "PFACT": (
        "The order of steps in the innermost part of a panel's factorization (NBMIN columns). It seldom matters; "
        "most with small N."
    ),
    "RFACT": (
        "The order of steps in the recursive part of a panel's factorization. It seldom matters; most with small "
        "N and large NB."
    ),
    "NBMIN": (
        "The recursion in a panel stops at so many columns. Small values leave more work to dgemm, large values "
        "mean fewer steps."
    ),
    "NDIV": ("Each step of the recursion in a panel cuts it into so many parts. It seldom matters; 2 is usual."),
    "PMAP": (
        "The order in which ranks fill the grid: row by row or column by column. It matters where a node has "
        "several ranks, because it decides which messages stay within a node."
    ),
    "L1": "Whether the triangle on top of a panel is stored transposed. It seldom matters.",
    "U": "Whether the exchanged rows are stored transposed. It seldom matters, and not at all with P = 1.",
    "EQUIL": (
        "Whether the long exchange of rows first evens out how many rows each rank has. It has an effect only "
        "where SWAP is long, or mix uses long."
    ),
    "alignment": "Where HPL's arrays start in memory, in doubles. It seldom matters.",
    "threshold": "The residual must stay below it, or the run does not count. It has no effect on speed.",
    "binding": "The cores to which a rank is bound. A rank that moves between cores loses its cache.",
    "program": "The program that computes HPL: netlib's, or one of a vendor with its own arithmetic and parameters.",
    "program.nx": (
        "Equations of a rank of HPCG in one direction; `program.ny` and `program.nz` are those in the other two. Few "
        "stay in a cache, which HPCG's rules do not allow; the shape decides which memory is read in one go."
    ),
    "program.seconds": "How long a run of HPCG computes. A result is official from 1800 s on.",
    "nodes_dropped": (
        "How many of the slowest nodes are left out. All ranks wait for the slowest one, so fewer nodes can be faster."
    ),
    "rank_order": (
        "The order in which ranks fill the nodes. It decides where in the grid a slow node stands, and which messages"
        " cross switches."
    ),
}
