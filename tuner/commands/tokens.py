"""`hpltune token`: makes, lists and revokes tokens of the service."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from getpass import getuser

from results.report.model import Report, Sentence, Table, columns
from results.store.service.audit import AuditedAction
from results.store.service.tokens import AccessScope, TokenEntry
from results.store.store import Store

from ..errors import UsageError
from ..units import parse_duration_s

NAME = re.compile(r"[A-Za-z0-9][\w.@+-]{0,63}", re.ASCII)
NEVER = "never"
DONE, MADE = 200, 201


def create_token(store: Store, name: str, scope: str, expires: str) -> tuple[str, str]:
    """Make a token, which cannot be read again; return it, and a sentence about it without it.

    Args:
        scope: "read", "run" or "admin".
        expires: a duration from now, as "90d", or "never".

    Raises:
        UsageError: the name, the scope or the time cannot be one.
        ResultsError: a token that still works has this name.
    """
    if not NAME.fullmatch(name):
        raise UsageError(f"token {name!r}: use 1 to 64 letters, digits and . _ @ + -, a letter or digit first")
    if scope not in list(AccessScope):
        raise UsageError("choose read, run or admin", field="scope", given=scope)
    expires_at = _moment(expires)
    first = not store.tokens.exist()
    entry, token = store.tokens.create(name, AccessScope(scope), expires_at)
    _note(
        store,
        "token create",
        entry.name,
        MADE,
        f"scope {entry.scope}, expires {_day(expires_at) if expires_at else NEVER}",
    )
    end = f"works until {_day(entry.expires_at)}" if entry.expires_at else "never expires"
    said = f"token {entry.name} has scope {entry.scope} and {end}; it is shown only now, so keep it safe"
    if first:  # until now everybody could come in from this machine
        admin = "" if entry.scope is AccessScope.ADMIN else ", so make one of scope admin for yourself"
        said += f". From now on the service asks everybody for a token, also you on this machine{admin}"
    return token, said


def list_tokens(store: Store) -> Report:
    """List all tokens."""
    entries, now = store.tokens.entries(), datetime.now(UTC)
    facts: list[object] = [_facts(entry, now) for entry in entries]
    if not entries:
        said = "There is no token: `hpltune token create NAME` makes one. Until then only this machine is served."
        return Report("Tokens", (Sentence(said),), facts)
    heads = columns("token", "scope", "state", "created", "expires", "last used")
    return Report("Tokens", (Table("Tokens", heads, tuple(_row(entry, now) for entry in entries)),), facts)


def _row(entry: TokenEntry, now: datetime) -> tuple[str, ...]:
    expires = _day(entry.expires_at) if entry.expires_at else NEVER
    used = f"{entry.used_at:%Y-%m-%d %H:%M}" if entry.used_at else NEVER
    return entry.name, entry.scope, entry.state(now), _day(entry.created_at), expires, used


def revoke_token(store: Store, name: str) -> Report:
    """Let a token open nothing from now on.

    Raises:
        ResultsError: there is no token of this name.
    """
    entry = store.tokens.revoke(name)
    _note(store, "token revoke", name, DONE)
    said = f"Token {entry.name} opens nothing any more, also where a browser is signed in with it."
    return Report("Revoke a token", (Sentence(said),), {"revoked": entry.name})


def token_names(store: Store) -> list[str]:
    """Names of tokens that are not revoked, for tab completion."""
    return [entry.name for entry in store.tokens.entries() if entry.revoked_at is None]


def _moment(expires: str) -> datetime | None:
    if expires.strip().lower() == NEVER:
        return None
    return datetime.now(UTC) + timedelta(seconds=parse_duration_s(expires, "expires"))


def _note(store: Store, action: str, target: str, status: int, detail: str = "") -> None:
    store.audit.note(AuditedAction(getuser(), "", action, target, status, detail))


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"


def _facts(entry: TokenEntry, now: datetime) -> Mapping[str, object]:
    moments = {name: getattr(entry, name) for name in ("created_at", "expires_at", "revoked_at", "used_at")}
    return {
        "name": entry.name,
        "scope": entry.scope,
        "state": entry.state(now),
        **{name: None if moment is None else moment.isoformat() for name, moment in moments.items()},
    }
