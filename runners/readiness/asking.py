"""Asks all nodes for their facts at once, by one POSIX shell script: a node needs no software of ours."""

import re
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import UnreachableError
from ..hosts.hearing import CommandResult
from ..hosts.node_facts import TELL_IDENTITY, Identity, told_identity
from ..hosts.transport import Transport, for_each, parsed, raised, say, say_all
from .fact import UNREADABLE
from .fact_table import FACTS, FILE, LOGIN, SKEW, fact_named, is_fact

LIMIT_S = 60.0
"""Seconds that a node has for all its facts; `dmidecode` of a large server takes some."""
SPARE_S = 15.0
"""Seconds more after which also a node that does not end its script itself is given up."""
TIMED_OUT = 124
"""Exit code of `timeout`."""
MISSING = "missing"
DAY_S = 86400.0
JUMP_S = 1.0
"""A node without nanoseconds tells a whole second, so that two looks may differ by it."""
LONG_S = 1.0
"""Seconds of a login after which another one is timed, too: it may have been an accident."""
_SYSTEM_FOLDER = re.compile(r"(?<![\w}])/(sys|proc)/")
_CLOCK = "date +%s.%N; date +%s.%N"

_PRELUDE = r"""
PATH=$PATH:/usr/sbin:/sbin; LC_ALL=C; export PATH LC_ALL
root=${HPLTUNE_SYSTEM_ROOT:-}
mpirun=$1; work=$2; shift 2
while [ ! -d "$work" ] && [ "${work%/*}" != "$work" ]; do work=${work%/*}; done
: "${work:=/}"
say() { printf '%s\t%s\n' "$1" "$(printf '%s' "$2" | tr -s '\t\n' ' ;' )"; }
"""
"""Of the work folder, or else of its nearest parent that is there."""
_FILES = rf"""
for file in "$@"; do
    printf 'ask\tfile %s\n' "$file"
    if [ -r "$file" ]; then say "file $file" "$(cksum <"$file" | tr ' ' -)"; else say "file $file" {MISSING}; fi
done
"""


def script(names: Collection[str] = tuple(FACTS)) -> str:
    """Return the script that asks for facts; $1 is an MPI launcher, $2 the work folder, the others are files.

    Args:
        names: of the facts.
    """
    asked = (
        f"printf 'ask\\t{fact.name}\\n'; say {fact.name} \"$({below_root(fact.shell)})\" 2>/dev/null"
        for fact in FACTS.values()
        if fact.shell and fact.name in names
    )
    return "\n".join([_PRELUDE, "{", TELL_IDENTITY, *asked, _FILES, "} 2>/dev/null", "exit 0"])


def below_root(shell: str) -> str:
    """Return commands that read /proc and /sys below $root, which is empty but where HPLTUNE_SYSTEM_ROOT says else."""
    return _SYSTEM_FOLDER.sub(r"$root/\1/", shell)


@dataclass(frozen=True)
class AskedFacts:
    """What all nodes said.

    Attributes:
        facts: by node the values of its facts, without those that it could not tell.
        silent: by node why there are none.
        identities: by node what tells it from others.
    """

    facts: Mapping[str, Mapping[str, str]]
    silent: Mapping[str, str]
    identities: Mapping[str, Identity] = field(default_factory=dict)


def ask_facts(
    reach: Transport,
    nodes: Sequence[str],
    names: Collection[str] = tuple(FACTS),
    mpirun: Path | None = None,
    work: Path = Path("/tmp"),  # noqa: S108 - only looked at
    limit_s: float = LIMIT_S,
) -> AskedFacts:
    """Ask all nodes at the same time; one that hangs is given up after the time limit.

    Args:
        names: of the facts, also of files (FILE); fewer take less time.
        mpirun: an MPI launcher that all nodes should have.
        work: the folder in which runs work.
    """
    files = [name.removeprefix(FILE) for name in names if name.startswith(FILE)]
    asking = ("sh", "-c", script(names), "sh", str(mpirun or ""), str(work), *files)
    command = ("timeout", "-k", "2", f"{limit_s:g}", *asking)
    facts: dict[str, Mapping[str, str]] = {}
    identities: dict[str, Identity] = {}
    silent: dict[str, str] = {}
    for node, said in say_all(reach, nodes, command, timeout_s=limit_s + SPARE_S).items():
        try:
            facts[node] = _facts_of(node, raised(said), limit_s)
            identities[node] = told_identity(raised(said).stdout)
        except UnreachableError as error:
            silent[node] = str(error)
    skews = _skews(reach, list(facts)) if {SKEW.name, LOGIN.name} & {*names} else {}
    return AskedFacts({node: {**own, **skews.get(node, {})} for node, own in facts.items()}, silent, identities)


def parse_facts(text: str) -> dict[str, str]:
    """Read the lines of the script; a fact that a node could not tell is left out."""
    known = (
        (name, value.strip(" ;"))
        for name, tab, value in (line.partition("\t") for line in text.splitlines())
        if tab and is_fact(name)
    )
    return {name: value for name, value in known if value}


def skew_text(node_s: float, before_s: float, after_s: float) -> str:
    """Write a node's clock against this host's, uncertain by half of the round trip; seconds since 1970."""
    skew_s = node_s - 0.5 * (before_s + after_s)
    days = f" ({abs(skew_s) / DAY_S:,.0f} days {'ahead' if skew_s > 0 else 'behind'})" if abs(skew_s) >= DAY_S else ""
    return f"{skew_s:+.2f} s ± {0.5 * (after_s - before_s):.2f} s{days}"


def clock_text(printed: str, before_s: float, after_s: float) -> str:
    """Write a node's clock against this host's from two looks at it; words say that it jumps or shows no time.

    Args:
        printed: by `date +%s.%N`, a line for each look.
        before_s, after_s: this host's clock around both.
    """
    try:
        first_s, second_s = (float(line.replace(".%N", ".5")) for line in printed.split())
    except ValueError:
        return f"{UNREADABLE} ({next(iter(printed.splitlines()), '')[:40] or 'nothing is printed'})"
    jumped_s = second_s - first_s
    if not -JUMP_S <= jumped_s <= after_s - before_s + JUMP_S:
        return f"{UNREADABLE} (it jumps by {jumped_s:+.2f} s between two looks)"
    return skew_text(first_s, before_s, after_s)


def _facts_of(node: str, said: CommandResult, limit_s: float) -> dict[str, str]:
    """Return the facts that a node told.

    Raises:
        UnreachableError: it told none; the sentence says why.
    """
    if said.exit_code == 0:
        found = parsed(node, parse_facts, said.stdout)
        if not found:
            raise UnreachableError(f"node {node}: it ends without an error, and tells no fact", node)
        return found
    asked = [name for name in re.findall(r"^ask\t(.+)$", said.stdout, re.MULTILINE) if is_fact(name)]
    if said.exit_code == TIMED_OUT and asked:
        fact = fact_named(asked[-1])
        sentence = f"it hung when asked for its {fact.title} (`{fact.show}`): given up after {limit_s:.0f} s"
        raise UnreachableError(f"node {node}: {sentence}", node)
    raise UnreachableError(f"node {node}: it cannot be asked: {said.complaint or f'code {said.exit_code}'}", node)


def _skews(reach: Transport, nodes: Sequence[str]) -> Mapping[str, dict[str, str]]:
    def one(node: str) -> dict[str, str]:
        with suppress(UnreachableError):
            before_s = time.time()
            said = say(reach, node, ("sh", "-c", _CLOCK), timeout_s=SPARE_S)
            after_s = time.time()
            login_s = after_s - before_s
            if login_s > LONG_S:
                say(reach, node, ("true",), timeout_s=SPARE_S)
                login_s = min(login_s, time.time() - after_s)
            return {SKEW.name: clock_text(said.stdout, before_s, after_s), LOGIN.name: f"{login_s:.2f} s"}
        return {}

    return for_each(nodes, one)
