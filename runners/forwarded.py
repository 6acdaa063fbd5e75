"""Decides what goes to nodes: what an MPI launcher forwards through their shells, and variables of modules.

Open MPI and Hydra start a daemon on each node with a command line that a login shell reads. This line repeats the MCA
parameters, the path of the launch agent and the launcher's own path. The program, its folder, its arguments and its
variables are sent in a message, so they may contain anything.
"""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from .errors import InvalidJobError, RunnerError

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
"""Names of MPI parameters."""
VALUE = re.compile(r"-[0-9][0-9.]*|[A-Za-z0-9_./^+][A-Za-z0-9_./^+,:=@%-]*")
"""Values that every shell takes literally: never an option, a command, a file pattern or several words."""
RESERVED = re.compile(
    r"mca_.*|(.*_)?(agent|args|chdir|libpath|prefix|env_list\w*|component_path|param_files?)"
    r"|I_MPI_\w*(EXEC|ARGS|SHELL|LIBRARY|PATH|DIR|ROOT|FILE)|FI_PROVIDER_PATH|UCX_MODULE_DIR"
)
"""Parameters of Open MPI, Intel MPI, libfabric and UCX that name a program to start or a file or library to load."""
ALLOWED = "letters, digits and _ . , : / + = @ % ^ -, beginning with - only in a number"
VARIABLES = ("MPIR_", "MPICH_", "UCX_", "FI_", "PSM2_", "I_MPI_")
"""Prefixes of the variables that MPICH, Intel MPI and the libraries below them read."""
_PATH = re.compile(r"/[A-Za-z0-9_./+=@%-]*")


def require_parameter(name: str, value: str) -> None:
    """Make sure that launchers may get an MPI parameter.

    Raises:
        InvalidJobError: none may.
    """
    if not NAME.fullmatch(name):
        raise InvalidJobError(f"MPI parameter {name!r}: expected a name of letters, digits and _ . -")
    if RESERVED.fullmatch(name):
        raise InvalidJobError(
            f"MPI parameter {name}: it names what MPI starts or loads, which hpltune chooses itself: leave it out"
        )
    if not VALUE.fullmatch(value):
        raise InvalidJobError(f"MPI parameter {name} = {value!r}: shells of the nodes read it, so expected {ALLOWED}")


def require_variables(names: tuple[str, ...]) -> None:
    """Make sure that MPI parameters given as variables are ones that MPICH and the libraries below it read.

    Raises:
        InvalidJobError: a variable is not; the ranks would get it nevertheless.
    """
    for name in names:
        if not name.startswith(VARIABLES):
            raise InvalidJobError(f"MPI parameter {name}: MPICH and Intel MPI read {', '.join(VARIABLES)}… only")


def plain(path: Path) -> bool:
    """Return whether every shell takes a path literally, also in options that are split at blanks and colons."""
    return _PATH.fullmatch(str(path)) is not None


def require_plain(mpirun: Path) -> None:
    """Make sure that a launcher may repeat its own path to the shells of nodes.

    Raises:
        InvalidJobError: the path contains characters that a shell does not take literally.
    """
    if not plain(mpirun):
        raise InvalidJobError(
            f"{str(mpirun)!r} starts no ranks on other nodes: shells of the nodes read its path, so expected letters, "
            "digits and / _ . + = @ % -: install MPI elsewhere, or set HPLTUNE_CACHE where `hpltune setup` installed it"
        )


THREADS = ("KMP_", "OMP_", "GOMP_", "GOTO_", "OPENBLAS_", "BLIS_", "MKL_")
"""How variables begin that choose threads or kernels: ranks get theirs from their job, and what this process has is for
its own libraries, some of which set more when they are imported."""
FOLDERS = ("_ROOT", "_HOME", "_DIR")
"""How variables end that only say where a library is."""
MODULE = r"(?!.*(?:^|/)\.\.?(?:/|$))[A-Za-z0-9_][A-Za-z0-9_.+-]*(?:/[A-Za-z0-9_.+-]+)*"
"""Names of modules: never an option, a file's absolute path, or something that a shell does not take literally."""
LIMIT_S = 300.0
"""Seconds to load them all: on a busy shared file system each may take some."""
_NO_COMMAND, _REFUSED = 3, 4
_READ = "hpltune-read\0"
"""Stands between the variables before and after."""
_LOAD = f"""
exec 3>&1 >/dev/null
type module 2>/dev/null || {{
    if [ -r "${{MODULESHOME:-}}/init/bash" ]; then
        . "$MODULESHOME/init/bash"
    else
        for hpltune_file in /etc/profile.d/*.sh; do [ -r "$hpltune_file" ] && . "$hpltune_file"; done
    fi
}} 2>/dev/null
type module 2>/dev/null || exit {_NO_COMMAND}
module unload "$@" 2>/dev/null
env -0 >&3
printf '{_READ.removesuffix(chr(0))}\\0' >&3
for hpltune_name; do
    hpltune_before=:${{LOADEDMODULES:-}}:
    module load "$hpltune_name" && case ":${{LOADEDMODULES:-}}:" in
        *":$hpltune_name:"* | *":$hpltune_name/"*) true ;;
        "$hpltune_before") false ;;
    esac || {{ printf %s "$hpltune_name" >&3; exit {_REFUSED}; }}
done
env -0 >&3
"""
"""Begins as a login shell does. What the user's shell has loaded is unloaded first, since nodes lack it. Old module
commands end with 0 whatever happens, so the list of those loaded counts."""
SECRET = re.compile(r"(?i:.*(?:token|secret|passw|credential|private|api_?key).*)")
"""Variables whose names say that their values are secret."""
_OF_SHELL = re.compile(
    r"_*|PWD|OLDPWD|SHLVL|ENV|BASH.*|PS[0-4]|PROMPT.*|HPLTUNE.*|SLURM_.*|_{0,2}(?:LMOD|MODULE|Module|LMFILES).*"
    rf"|{SECRET.pattern}"
)
"""Variables of shells and of the module command itself, and secret ones."""
_loaded: list[str] = []
"""The modules that this process has loaded."""
_changed: dict[str, str | None] = {}
"""The variables that they changed; None for those that they removed."""
module_folders: list[Path] = []
"""The folders of this machine that they added to PATH and LD_LIBRARY_PATH, which nodes should have, too."""


def passed(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str | None]:
    """Decide which changes of modules programs get, here and on nodes; None stands for a variable that is removed.

    Functions of shells, texts of several lines, secrets, and what chooses threads or kernels of BLAS are left out.
    """
    return {
        name: value
        for name in sorted(before.keys() | after.keys())
        if (value := after.get(name)) != before.get(name)
        and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)
        and not _OF_SHELL.fullmatch(name)
        and not (name.startswith(THREADS) and not name.endswith(FOLDERS))
        and (value or "").replace("\N{REPLACEMENT CHARACTER}", "\n").isprintable()
    }


def load_modules(names: Sequence[str]) -> None:
    """Load modules into the environment of this process, once, for all that it starts here and on nodes.

    Raises:
        RunnerError: they cannot be loaded here, or this process has loaded others; the sentence says what to do.
    """
    if list(names) == _loaded:
        return
    if _loaded:
        others = f"this process has loaded the modules {', '.join(_loaded)} for another cluster"
        raise RunnerError(f"{others}: start hpltune anew")
    before, after = _read(names)
    _changed.update(passed(before, after))
    for name, value in _changed.items():
        os.environ.pop(name, None)
        os.environ.update({} if value is None else {name: value})
    there, added = (
        {path for name in ("PATH", "LD_LIBRARY_PATH") for path in variables.get(name, "").split(":")}
        for variables in (before, after)
    )
    module_folders.extend(Path(path) for path in sorted(added - there) if path[:1] == "/" and Path(path).is_dir())
    _loaded.extend(names)


def _read(names: Sequence[str]) -> list[dict[str, str]]:
    """Load modules in a shell, and return its variables before and after."""
    from .hosts.hearing import Call, CommandResult, Unheard, hear  # noqa: PLC0415 - help needs none of it

    call = Call(("bash", "--noprofile", "--norc", "-c", _LOAD, "hpltune-modules", *names), LIMIT_S)
    heard, what = hear({"": call})[""], f"the modules {', '.join(names)} cannot be loaded on this machine"
    if not isinstance(heard, CommandResult):
        why = heard.value if isinstance(heard, Unheard) else f"bash cannot be started ({heard.strerror})"
        raise RunnerError(f"{what}: {why}")
    texts = heard.stdout.split(_READ)
    if heard.exit_code == _REFUSED:
        said = " ".join(" ".join(filter(str.isprintable, heard.stderr.strip().splitlines()[:2])).split())[:200]
        why = f"`module avail {texts[1].partition('/')[0]}` lists what there is{f' ({said})' if said else ''}"
        raise RunnerError(f"the module {texts[1]} cannot be loaded on this machine: {why}")
    if heard.exit_code != 0:
        how = "install Lmod or Environment Modules, or leave modules out of the cluster file"
        raise RunnerError(f"{what}, which has no command module: {how}")
    entries = [[entry.partition("=") for entry in text.split("\0")] for text in texts]
    return [{name: value for name, equals, value in variables if equals} for variables in entries]


def on_nodes() -> list[str]:
    """Return what stands before a command on a node, so that it has the variables of the modules; often nothing."""
    removed = [word for name, value in _changed.items() if value is None for word in ("-u", name)]
    given = [f"{name}={value}" for name, value in _changed.items() if value is not None]
    return ["env", *removed, *given] if _changed else []
