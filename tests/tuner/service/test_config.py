from pathlib import Path

import pytest
from as_user import Run

from runners.toml_file import ClusterFileError
from tuner.service.config import ServiceConfig, read_config


def written(folder: Path, text: str) -> Path:
    file = folder / "serve.toml"
    file.write_text(text)
    return file


def test_an_empty_file_changes_nothing(tmp_path: Path) -> None:
    assert read_config(written(tmp_path, "")) == ServiceConfig()


def test_the_command_line_goes_before_the_file(tmp_path: Path) -> None:
    config = read_config(written(tmp_path, '[listen]\nhost = "::1"\nport = 9000\n'))
    assert config.listening_at(None, 9001).listen == config.listen.model_copy(update={"port": 9001})


def test_files_are_found_beside_the_file_that_names_them(tmp_path: Path) -> None:
    listen = read_config(written(tmp_path, '[listen]\ncertificate = "a.crt"\nkey = "/etc/a.key"\n')).listen
    assert (listen.certificate, listen.key) == (tmp_path / "a.crt", Path("/etc/a.key"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[listen]\nport = 99999\n", "serve.toml, line 2: listen.port = 99999: write 65535 or less"),
        ("[lissen]\n", "serve.toml, line 1: lissen is not known here"),
        ('[listen]\ncertificate = "a"\n', "listen: TLS needs both certificate and key"),
        ('[proxy]\ntrusted = ["front"]\n', "proxy.trusted.0 = front: expected an address or a network"),
        ('[proxy]\ntrusted = ["127.0.0.0/16"]\n', "proxy: trusted has 127.0.0.0/16, this machine"),
        (
            '[proxy]\ntrusted = ["10.0.0.1"]\nuser = "no-such"\n',
            "proxy.user = no-such: there is no user no-such on this machine",
        ),
        ('[proxy]\nuser_header = "X-User"\n', "proxy.trusted is missing"),
        ('[proxy]\ntrusted = ["10.0.0.1"]\nscopes = {god = ["x"]}\n', "proxy.scopes.god"),
        ("[limits]\nwatchers = 0\n", "limits.watchers = 0: write 1 or more"),
        ("[listen\n", "serve.toml: "),
    ],
)
def test_a_mistake_is_named_with_its_key(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ClusterFileError) as caught:
        read_config(written(tmp_path, text))
    assert said in str(caught.value)


def test_a_wrong_file_ends_serve_with_a_sentence(hpltune: Run, tmp_path: Path) -> None:
    done = hpltune("serve", "--config", str(written(tmp_path, "[limits]\nbody_bytes = 1\n")))
    assert done.returncode == 2
    assert "limits.body_bytes = 1: write 1000 or more" in done.stderr
    assert "Traceback" not in done.stderr
