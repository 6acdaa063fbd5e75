"""What tokens and the audit log of a store must do. A test class inherits it and gives an empty, open `store`."""

from datetime import UTC, datetime, timedelta

import pytest

from results.errors import ResultsError
from results.store.service.audit import AuditedAction
from results.store.service.tokens import AccessScope, UnknownTokenError
from results.store.store import Store

YEAR = timedelta(days=365)


class AccessContract:
    def test_a_token_is_found_by_itself_and_not_stored(self, store: Store) -> None:
        entry, token = store.tokens.create("ada", AccessScope.RUN, datetime.now(UTC) + YEAR)
        assert store.tokens.find(token) == entry
        assert store.tokens.entries() == [entry]
        assert (entry.name, entry.scope, entry.state(datetime.now(UTC))) == ("ada", "run", "valid")
        assert token.startswith("hpltune_")
        assert token not in repr(entry)
        assert store.tokens.find(token + "x") is None
        assert store.tokens.find("\udc80") is None

    def test_there_is_a_token_once_one_was_made(self, store: Store) -> None:
        assert not store.tokens.exist()
        store.tokens.create("ada", AccessScope.READ, None)
        store.tokens.revoke("ada")
        assert store.tokens.exist()

    def test_a_token_ends_by_its_time_or_by_revoking(self, store: Store) -> None:
        entry, token = store.tokens.create("ada", AccessScope.READ, datetime.now(UTC) + YEAR)
        assert entry.state(datetime.now(UTC) + YEAR) == "expired"
        assert store.tokens.revoke("ada").state(datetime.now(UTC)) == "revoked"
        found = store.tokens.find(token)
        assert found is not None
        assert found.state(datetime.now(UTC)) == "revoked"
        assert store.tokens.revoke("ada") == found
        with pytest.raises(UnknownTokenError, match="there is no token bob"):
            store.tokens.revoke("bob")

    def test_a_name_is_free_again_when_its_token_has_ended(self, store: Store) -> None:
        _, first = store.tokens.create("ada", AccessScope.READ, None)
        with pytest.raises(ResultsError, match="there is a token ada already"):
            store.tokens.create("ada", AccessScope.ADMIN, None)
        store.tokens.revoke("ada")
        entry, second = store.tokens.create("ada", AccessScope.ADMIN, None)
        assert store.tokens.find(first) is None
        assert store.tokens.find(second) == entry

    def test_uses_within_a_minute_are_written_once(self, store: Store) -> None:
        entry, token = store.tokens.create("ada", AccessScope.READ, None)
        store.tokens.note_use(entry)
        used = store.tokens.find(token)
        store.tokens.note_use(entry)
        assert used is not None
        assert used.used_at is not None
        assert store.tokens.find(token) == used

    def test_actions_come_newest_first_in_pages(self, store: Store) -> None:
        for number in range(5):
            store.audit.note(AuditedAction("ada", "::1", "POST", f"c{number}", 201))
        first = store.audit.newest(2)
        rest = store.audit.newest(9, before=first[-1].place)
        assert [row.noted.target for row in (*first, *rest)] == ["c4", "c3", "c2", "c1", "c0"]
        assert first[0].noted == AuditedAction("ada", "::1", "POST", "c4", 201)

    def test_an_action_with_odd_signs_is_kept(self, store: Store) -> None:
        store.audit.note(AuditedAction("\udc80\0", "::1", "GET", "x", 401, "no token"))
        assert store.audit.newest(1)[0].noted.who == r"\udc80\x00"
