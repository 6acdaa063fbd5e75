import json

from as_user import Run


def test_a_token_is_printed_once_and_listed_without_it(hpltune: Run) -> None:
    made = hpltune.well("token", "create", "ada", "--scope", "run", "--expires", "30d")
    assert "has scope run and works until" in made.stderr
    assert made.stderr.endswith("also you on this machine, so make one of scope admin for yourself\n")
    assert "From now on" not in hpltune("token", "create", "eve").stderr, "only the first token closes the service"
    hpltune("token", "revoke", "eve")
    token = made.stdout.strip()
    assert token.startswith("hpltune_")
    listed = hpltune("token", "list", "--json")
    assert token not in listed.stdout
    one = next(row for row in json.loads(listed.stdout) if row["name"] == "ada")
    assert (one["name"], one["scope"], one["state"], one["used_at"]) == ("ada", "run", "valid", None)


def test_a_revoked_token_is_listed_as_such(hpltune: Run) -> None:
    hpltune("token", "create", "ada", "--expires", "never")
    assert "Token ada opens nothing any more" in hpltune("token", "revoke", "ada").stdout
    assert "revoked" in hpltune("token", "list").stdout
