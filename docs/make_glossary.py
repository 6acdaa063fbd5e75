"""Writes docs/glossary.md from `tuner.settings.dimensions.meanings`, so that the page cannot say anything else.

Run `python docs/make_glossary.py`; a test fails when the page is not what this would write.
"""

from pathlib import Path

from tuner.settings.dimensions import meanings

PAGE = Path(__file__).with_name("glossary.md")
HEAD = """# Glossary

Reference: the words of HPL, and what each parameter does.

## Words

| word | what it is |
|---|---|
| N | The number of equations that HPL solves. The matrix takes 8 N^2 bytes; the work is 2/3 N^3 operations. |
| NB | The columns of a block, the unit in which HPL factors, sends and updates the matrix. |
| P, Q | The rows and columns of the grid in which the ranks stand: P x Q ranks. |
| rank | One process of the MPI program. Each has a part of the matrix, and one core or several threads. |
| panel | NB columns of the matrix that are factored together by a column of ranks, then sent along each row. |
| dgemm | The multiplication of matrices in double precision. It is most of HPL's work, and a BLAS library does it. |
| residual | How well the solution fits the equations. Only a run whose residual PASSED counts. |
| Rpeak | The peak in theory: cores x clock x operations in a cycle. `hpltune doctor --all` shows how it follows. |
| Rmax | The rate of the fastest full run that counts, as the TOP500 lists it. Percent of peak is Rmax / Rpeak. |
| disturbed | Of a run: something else took the machine from it, as was measured. See [disturbed runs](disturbed.md). |

## Parameters

[Search spaces](spaces.md) has their values, [the network](network.md) the other network settings,
[settings of the host](settings.md) what those need.

| parameter | what it does and when it matters |
|---|---|
"""


def page() -> str:
    """Write the whole page; parameters of single programs stand last."""
    ordered = sorted(meanings().items(), key=lambda entry: entry[0].startswith("program."))
    return HEAD + "".join(f"| `{name}` | {text} |\n" for name, text in ordered)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
