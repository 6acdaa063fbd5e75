"""Writes docs/preflight.md from the registry of checks, so that the page cannot say anything else.

Run `python docs/make_preflight.py`; a test fails when a check is not on the page.
"""

from pathlib import Path

from tuner.preflight.registry import CHECKS

PAGE = Path(__file__).with_name("preflight.md")
HEAD = """# What would spoil runs, looked at before they start

Before runs of `tune`, `blas`, `run`, `check`, `compare --interleaved`, `scale` and `calibrate` hpltune looks at what
would make them slower, less alike, or fail, on this machine or on each node that ssh reaches, and says each warning
once, with what helps. Warnings are kept with the study as cautions. `hpltune doctor` has the whole list, with what is
good and what the machine does not tell, and times the memory with STREAM; `hpltune doctor --json` has the same under
`preflight`, and `hpltune doctor --cluster FILE` asks all nodes.

What waits for a quiet machine (`tune`, `blas`, `check`; `--wait-for-quiet`) tells of other programs there, and not here
([disturbed runs](disturbed.md)). N is held against limits of memory where it is known before the first run.

One look took 0.14 s of processor time (0.13 to 0.15 s in seven looks) on two cores with 160 processes; 0.12 s without
other programs. On those cores, which others kept busy, it lasted 0.2 to 0.6 s.

Nothing is guessed: what a machine does not show, as the clock of most virtual machines, is "not told here". Nodes
that a batch system chooses later are not asked. `HPLTUNE_SYSTEM_ROOT` names a folder in whose `proc` and `sys` is
read in place of the machine's own.

| looked at | told | what helps |
|---|---|---|
"""


def page() -> str:
    """Write the whole page."""
    return HEAD + "".join(f"| {check.title} | {check.when} | {check.remedy} |\n" for check in CHECKS)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
