"""Designs for tests, read from a file on the base of Kronos."""

from pathlib import Path

from tuner.simulation.design import Design, read_designs


def designs(folder: Path, text: str) -> tuple[Design, ...]:
    file = folder / "designs.toml"
    file.write_text(f'base = "kronos"\n{text}')
    return read_designs(file)


def design(folder: Path, text: str) -> Design:
    return designs(folder, f"[[design]]\n{text}")[0]
