from pathlib import Path

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
