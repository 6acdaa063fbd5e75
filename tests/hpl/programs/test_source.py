import hashlib
import io
import tarfile
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from hpl.build.private_apt import source_lines
from hpl.build.source import SourceError
from hpl.programs import netlib
from hpl.programs.registry import obtain
from hpl.search_paths import SearchPaths

TREE = {
    "include/hpl.h": "/* hpl */",
    "testing/ptest/HPL_pdinfo.c": 'printf("HPLinpack 2.3");',
    "src/blas/HPL_dgemm.c": "",
}


@pytest.fixture
def search(tmp_path: Path) -> SearchPaths:
    return SearchPaths(None, tmp_path / "cache")


def tree(root: Path, below: str = "hpl-2.3") -> Path:
    for name, text in TREE.items():
        file = root / below / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root / below


def archive(path: Path, names: dict[str, str]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, text in names.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    return path


def test_a_folder_of_netlibs_layout_is_taken_as_it_is(search: SearchPaths, tmp_path: Path) -> None:
    found = obtain(search, tree(tmp_path))
    assert (found.kind, found.version, found.root) == ("netlib", "2.3", tmp_path / "hpl-2.3")


def test_hpl_inside_hpcc_is_recognised(search: SearchPaths, tmp_path: Path) -> None:
    tree(tmp_path / "hpcc-1.5.0", "hpl")
    (tmp_path / "hpcc-1.5.0/include").mkdir()
    (tmp_path / "hpcc-1.5.0/include/hpcc.h").touch()
    found = obtain(search, tmp_path / "hpcc-1.5.0")
    assert (found.kind, found.include) == ("hpcc", tmp_path / "hpcc-1.5.0/include")


def test_an_archive_of_the_users_is_unpacked_once(search: SearchPaths, tmp_path: Path) -> None:
    packed = archive(tmp_path / "hpl.tgz", {f"hpl-2.3/{name}": text for name, text in TREE.items()})
    first, second = obtain(search, packed), obtain(search, packed)
    assert first == second
    assert first.root.is_relative_to(search.cache)


def test_the_digest_follows_the_files(search: SearchPaths, tmp_path: Path) -> None:
    folder = tree(tmp_path)
    before = obtain(search, folder).digest
    (folder / "src/blas/HPL_dgemm.c").write_text("changed")
    assert obtain(search, folder).digest != before


def test_an_archive_cannot_write_outside_its_folder(search: SearchPaths, tmp_path: Path) -> None:
    names = {f"hpl-2.3/{name}": text for name, text in TREE.items()}
    obtain(search, archive(tmp_path / "hpl.tgz", {**names, "../../../escaped": "x"}))
    assert not list(tmp_path.rglob("escaped"))


def test_what_is_no_source_is_said(search: SearchPaths, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="holds no source of HPL"):
        obtain(search, tmp_path / "empty")
    with pytest.raises(SourceError, match="no such file"):
        obtain(search, tmp_path / "nothing")
    (tmp_path / "text.tgz").write_text("no archive")
    with pytest.raises(SourceError, match="not an archive"):
        obtain(search, tmp_path / "text.tgz")


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda data: data[:60_000],
    "wrong inside": lambda data: data[:50_000] + bytes(40) + data[50_040:],
    "wrong at its head": lambda data: data[:4] + bytes(8) + data[12:],
    "wrong at its end": lambda data: data[:-8] + bytes(8),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("kind", ["gz", "bz2", "xz"])
def test_a_damaged_archive_is_named_in_one_sentence(
    search: SearchPaths, tmp_path: Path, kind: str, damage: str
) -> None:
    path = tmp_path / f"hpl.tar.{kind}"
    noise = hashlib.shake_128(b"noise").digest(100_000)
    with tarfile.open(path, f"w:{kind}") as tar:  # type: ignore[call-overload]  # a mode put together
        member = tarfile.TarInfo("hpl-2.3/noise")
        member.size = len(noise)
        tar.addfile(member, io.BytesIO(noise))
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    with pytest.raises(SourceError) as caught:
        obtain(search, path)
    told = str(caught.value)
    assert told.startswith(f"{path} ")
    assert "\n" not in told
    assert not list((search.cache / "source").iterdir())


def test_an_archive_of_something_else_is_named_and_not_the_folder_it_was_unpacked_in(
    search: SearchPaths, tmp_path: Path
) -> None:
    other = archive(tmp_path / "other.tgz", {"other-1.0/README": "no HPL"})
    with pytest.raises(SourceError) as caught:
        obtain(search, other)
    assert str(caught.value).startswith(f"{other} holds no source of HPL")
    assert ".unpacking" not in str(caught.value)


def test_a_cached_source_needs_no_network(search: SearchPaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(search.cache / "source", "netlib")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(netlib, "ARCHIVE", "http://127.0.0.1:1/none")
    assert obtain(search).origin.endswith("(cached)")


def test_a_download_is_checked_and_the_next_source_tried(
    search: SearchPaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = tmp_path / "changed.tar.gz"
    changed.write_bytes(b"changed on the way")
    monkeypatch.setattr(netlib, "ARCHIVE", changed.as_uri())
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceError) as caught:
        obtain(search)
    assert "damaged or changed" in str(caught.value)
    assert "no apt-get" in str(caught.value)
    assert "⟦hpl_source⟧" in str(caught.value)


def test_a_download_that_was_cut_short_is_said_and_the_next_source_tried(
    search: SearchPaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Cut(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            self.wfile.write(b"the beginning")

    with HTTPServer(("127.0.0.1", 0), Cut) as server:
        Thread(target=server.handle_request, daemon=True).start()
        monkeypatch.setattr(netlib, "ARCHIVE", f"http://127.0.0.1:{server.server_port}/hpl-2.3.tar.gz")
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(SourceError, match=r"came only in part.*no apt-get"):
            obtain(search)


def test_a_good_download_is_kept(search: SearchPaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = archive(tmp_path / "hpl.tar.gz", {f"hpl-2.3/{name}": text for name, text in TREE.items()})
    monkeypatch.setattr(netlib, "ARCHIVE", packed.as_uri())
    monkeypatch.setattr(netlib, "SHA256", hashlib.sha256(packed.read_bytes()).hexdigest())
    assert obtain(search).kind == "netlib"
    packed.unlink()
    assert obtain(search).origin.endswith("(cached)")


def test_package_sources_of_both_formats_become_source_lines(tmp_path: Path) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text("# deb x y z\ndeb [arch=amd64] http://one/debian stable main\n")
    (tmp_path / "sources.list.d/two.sources").write_text(
        "Types: deb deb-src\nURIs: http://two/debian\nSuites: stable stable-updates\nComponents: main\n"
        "Signed-By: /usr/share/keyrings/two.gpg\n\nTypes: deb\nEnabled: no\nURIs: http://three\nSuites: x\n"
    )
    assert list(source_lines(tmp_path)) == [
        "deb-src [arch=amd64] http://one/debian stable main",
        "deb-src [signed-by=/usr/share/keyrings/two.gpg] http://two/debian stable main",
        "deb-src [signed-by=/usr/share/keyrings/two.gpg] http://two/debian stable-updates main",
    ]
