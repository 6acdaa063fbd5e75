"""Loads environment modules (Lmod, Environment Modules), and decides which variables of theirs programs get."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..batch.registry import THREADS
from ..errors import RunnerError
from .hearing import Call, CommandResult, Unheard, hear

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
"""Begins as a login shell does. Old module commands end with 0 whatever happens, so the list of those loaded counts."""
_OF_SHELL = re.compile(
    r"_*|PWD|OLDPWD|SHLVL|ENV|BASH.*|PS[0-4]|PROMPT.*|HPLTUNE.*|SLURM_.*|_{0,2}(?:LMOD|MODULE|Module|LMFILES).*"
    r"|(?i:.*(?:token|secret|passw|credential|private|api_?key).*)"
)
"""Variables of shells and of the module command itself, and those whose names say that their values are secret."""
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
        and not (name.startswith(THREADS) and not name.endswith(("_ROOT", "_HOME", "_DIR")))
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
