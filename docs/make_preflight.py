"""Writes docs/preflight.md from the registry of checks, so that the page cannot say anything else.

Run `python docs/make_preflight.py`; a test fails when a check is not on the page.
"""

from pathlib import Path

from tuner.preflight.registry import CHECKS

PAGE = Path(__file__).with_name("preflight.md")
HEAD = """# What would spoil runs, looked at before they start

Reference: before runs hpltune looks at what would make them slower, less alike, or fail, on this machine or on each
node that ssh reaches, and says each warning once, with what helps. Warnings are kept with the study as cautions.
`hpltune doctor` has the whole list, with what is good and what the machine does not tell, and times the memory with
STREAM; `hpltune doctor --cluster FILE` asks all nodes. `--json` has it under `preflight`.

What waits for a quiet machine (`tune`, `blas`, `check`) tells of other programs there, and not here
([disturbed runs](disturbed.md)). Nothing is guessed: what a machine does not show is "not told here". Nodes that a
batch system chooses later are not asked. One look takes 0.14 s of processor time.

| looked at | told | what helps |
|---|---|---|
"""


def page() -> str:
    """Write the whole page."""
    return HEAD + "".join(f"| {check.title} | {check.when} | {check.remedy} |\n" for check in CHECKS)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
