import json

import pytest
from as_user import Run


def test_a_token_is_printed_once_and_listed_without_it(hpltune: Run) -> None:
    made = hpltune("token", "create", "ada", "--scope", "run", "--expires", "30d")
    assert made.returncode == 0
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


def test_no_tokens_are_a_sentence(hpltune: Run) -> None:
    hpltune("token", "create", "ada", "--scope", "god")
    assert "There is no token" in hpltune("token", "list").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("create", "a b"), 2, "token 'a b': use 1 to 64 letters"),
        (("create", "ada", "--scope", "god"), 2, "--scope god: choose read, run or admin"),
        (("create", "ada", "--expires", "90"), 2, "--expires 90: a duration needs a unit"),
        (("revoke", "zoe"), 1, "there is no token zoe: `hpltune token list` lists all"),
    ],
)
def test_a_mistake_is_a_sentence(hpltune: Run, arguments: tuple[str, ...], code: int, said: str) -> None:
    hpltune("token", "create", "other")
    done = hpltune("token", *arguments)
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
