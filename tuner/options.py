"""What the user asked of a study, checked once; nothing re-reads the command line afterwards."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from .asks.tune import SearchSettings, TuneAsk
from .budget import Budget
from .errors import UsageError

DEFAULT_WALL_S = 300.0
DEFAULT_FULL_TRIALS = 24
DEFAULT_SIMULATED_TRIALS = 60
DEFAULT_SIMULATION_S = 600.0


@dataclass(frozen=True)
class TuneOptions(SearchSettings):
    """What was asked of a study, as it is on its machine; stored with it, so that `--resume` needs no options.

    Attributes:
        space: shipped name or file; `overrides` are `--set` values by parameter name.
        blas_only: BLAS names to keep; `blas_files` libraries the user named.
        programs: files of programs that the user named, by these names.
        real_cluster: the cluster to run on, as its file says; None for this machine.
        cluster: the virtual cluster to simulate, as its file says; None for this machine.
        limit_s: real seconds after which a simulation is ended.
        replay: the table that stands in place of a machine: `table` its file, `sha256` of it, and `speed`, real seconds
            for each of the table; None where none does.
        warm_start: studies, outputs of HPL and HPL.dat files that say what is known already.
        node_speeds: what a check of the nodes measured, in GFLOPS by host; None for what the cluster's file tells.
        nodes_left_out: nodes that are not used, because that check found them bad; with a batch system also slow ones.
        power_command: a program that prints watts; "" for none.
        container: the image in which ranks run, as IMAGE or NAME=IMAGE; "" for that of the cluster's file.
        wrap: words before the program of every rank; empty for those of the cluster's file.
        shootout: each BLAS is searched by itself, and then the best of all run in rounds, as `hpltune blas` asks.
    """

    space: str = TuneAsk.space
    budget: Budget = field(default_factory=lambda: Budget(wall_s=DEFAULT_WALL_S))
    overrides: Mapping[str, Sequence[str]] | None = None
    blas_only: tuple[str, ...] = ()
    blas_files: Mapping[str, Path] | None = None
    xhpl: Path | None = None
    programs: Mapping[str, Path] = field(default_factory=dict)
    hpl_source: Path | None = None
    price_usd: float | None = None
    power_w: float | None = None
    real_cluster: Mapping[str, Any] | None = None
    cluster: Mapping[str, Any] | None = None
    limit_s: float = DEFAULT_SIMULATION_S
    replay: Mapping[str, Any] | None = None
    warm_start: tuple[str, ...] = ()
    node_speeds: Mapping[str, float] | None = None
    nodes_left_out: tuple[str, ...] = ()
    power_command: str = ""
    container: str = ""
    wrap: tuple[str, ...] = ()
    shootout: bool = False

    @property
    def on_machines(self) -> bool:
        """Whether machines run HPL: no simulator, and no table."""
        return self.cluster is None and self.replay is None

    @property
    def image(self) -> str:
        """The image in which ranks run, as it was asked for or stands in the cluster's file; "" for none."""
        return self.container or str((self.real_cluster or {}).get("container") or "")

    @property
    def whole_table(self) -> bool:
        """Whether all that a table has is searched, so that no other space was named."""
        return self.replay is not None and self.space == self.replay["table"]

    def __str__(self) -> str:
        """What is searched, how, for what and for how long."""
        objective = "" if self.objective == "gflops" else f"objective {self.objective}, "
        if self.pareto:
            objective = f"GFLOPS against {self.pareto}, "
        return f"space {self.space}, engine {self.engine}, {objective}{self.budget}"

    def to_json(self) -> dict[str, Any]:
        """A mapping that JSON can hold."""
        data = asdict(self)
        for files in ("blas_files", "programs"):
            data[files] = {name: str(path) for name, path in (data[files] or {}).items()}
        for name in ("xhpl", "hpl_source"):
            data[name] = None if data[name] is None else str(data[name])
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "TuneOptions":
        """The options of a stored study: keys of later versions are ignored, what earlier ones lack has its default."""
        known = {entry.name: data[entry.name] for entry in fields(cls) if entry.name in data}
        if "budget" in known:
            known["budget"] = Budget(**known["budget"])
        for name in ("blas_only", "warm_start", "nodes_left_out", "wrap"):
            known[name] = tuple(known.get(name, ()))
        for files in ("blas_files", "programs"):
            known[files] = {name: Path(path) for name, path in (known.get(files) or {}).items()}
        for name in ("xhpl", "hpl_source"):
            known[name] = None if known.get(name) is None else Path(known[name])
        return cls(**known)


def parse_blas(values: Sequence[str]) -> tuple[tuple[str, ...], dict[str, Path]]:
    """Split `--blas` values into catalogue names, each once, and NAME=FILE libraries of the user's.

    Raises:
        TunerError: an empty name, a file that is not there, or two files of one name.
    """
    names: list[str] = []
    files: dict[str, Path] = {}
    for value in values:
        name, equals, file = value.partition("=")
        if not name or (equals and not file):
            raise UsageError("write a name like openblas, or NAME=/path/to/library.so", field="blas", given=value)
        if equals:
            path = Path(file).expanduser().absolute()
            if not path.is_file():
                raise UsageError(f"there is no file {path}", field="blas", given=value)
            if files.setdefault(name, path) != path:
                raise UsageError(
                    f"{name} is {files[name]} already: give {path} a name of its own", field="blas", given=value
                )
        names.append(name)
    return tuple(dict.fromkeys(names)), files


def parse_programs(values: Sequence[str], image: str = "") -> dict[str, Path]:
    """Split `--program` values into names and files.

    Args:
        image: the image in which they are; "" for this machine.

    Raises:
        UsageError: no name, no file, a file that is not there or cannot be executed, or two files of one name.
    """
    files: dict[str, Path] = {}
    for value in values:
        name, _, file = value.partition("=")
        if not file or not re.fullmatch(r"[\w.+-]+", name) or name == "auto":
            raise UsageError("write NAME=FILE, as amd-zen=/opt/amd-zen-hpl/xhpl", field="program", given=value)
        path = user_program(file, called=name, image=image)
        if files.setdefault(name, path) != path:
            other = f"{name} is {files[name]} already: give {path} a name of its own"
            raise UsageError(other, field="program", given=value)
    return files


def parse_wrap(text: str) -> tuple[str, ...]:
    """Split `--wrap` into words as a shell does.

    Raises:
        UsageError: a quotation mark is not closed.
    """
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError("a quotation mark is not closed: add it", field="wrap", given=text) from error


def user_source(path: Path | None) -> Path | None:
    """The absolute path of `--hpl-source`: a study may be resumed from another folder."""
    return None if path is None else path.expanduser().absolute()


def user_program(name: str, *, called: str = "", image: str = "") -> Path:
    """The absolute path of `--xhpl`, or of a `--program`, checked to be an executable file.

    Args:
        called: the name before the file of a `--program`; "" for `--xhpl`.
        image: the image in which it is; "" for a program of this machine.

    Raises:
        TunerError: it is missing or cannot be executed.
    """
    field, given = ("program", f"{called}={name}") if called else ("xhpl", name)
    if image:
        if not name.startswith("/"):
            raise UsageError(f"name its whole path in the image {image}", field=field, given=given)
        return Path(name)
    absolute = Path(name).expanduser().absolute()
    if not absolute.is_file():
        why = "it is no file" if absolute.exists() else "there is no such file"
        raise UsageError(why, field=field, given=given)
    if not os.access(absolute, os.X_OK):
        from hpl.programs.yours import beginning  # noqa: PLC0415 - only a file that cannot be started needs it

        why = "the file is no program: it is neither a compiled one nor a script"
        if beginning(absolute).startswith(("\x7fELF", "#!")):
            why = f"the file is not executable; try chmod +x {name}"
        raise UsageError(why, field=field, given=given)
    return absolute
