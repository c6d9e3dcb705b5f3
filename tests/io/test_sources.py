"""Files, folders, globs and pipes are found, named and ordered; what is missing says what was meant."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from heliograph.errors import UsageError
from heliograph.io.sources import DOCUMENT_SUFFIXES, TABLE_SUFFIXES, find_sources


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("d/b.csv", "d/a.parquet", "d/sub/c.NDJSON", "d/sub/readme.txt", "d/.hidden.csv", "d/_SUCCESS"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "d/_temporary").mkdir()
    (tmp_path / "d/_temporary/x.csv").touch()
    return tmp_path


def names(spec: str) -> list[str]:
    return [source.name for source in find_sources(spec)]


def test_a_file_keeps_the_name_it_was_given(data: Path) -> None:
    assert names("d/b.csv") == ["d/b.csv"]
    assert names(f"{data}/d/../d/b.csv") == [f"{data}/d/../d/b.csv"]
    assert find_sources(Path("d/b.csv"))[0].path == Path("d/b.csv")


def test_a_folder_means_all_that_fits_below_it_in_order(data: Path) -> None:
    assert names("d") == names("d/") == ["a.parquet", "b.csv", "sub/c.NDJSON"]
    assert [source.suffix for source in find_sources("d")] == [".parquet", ".csv", ".ndjson"]


def test_a_glob_names_what_it_matches(data: Path) -> None:
    assert names("d/*.csv") == ["d/b.csv"]
    assert names("d/[as]*") == names("d/**/[ac]*") == ["d/a.parquet", "d/sub/c.NDJSON"]
    assert names("d/**/*.[nN]*") == ["d/sub/c.NDJSON"]
    assert names("**/b.csv") == ["d/b.csv"]


def test_many_stars_in_a_row_take_the_work_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path.joinpath(*"abcdef")
    folder.mkdir(parents=True)
    (folder / "x.csv").touch()
    listed: list[str] = []
    listing = os.scandir

    def counted(path: str) -> object:
        listed.append(path)
        return listing(path)

    monkeypatch.setattr(os, "scandir", counted)

    def work(parts: str) -> tuple[list[str], int]:
        listed.clear()
        return [source.name for source in find_sources(f"{tmp_path}/{parts}")], len(listed)

    found, once = work("**/*.csv")
    assert len(found) == 1
    assert once > 6
    assert work("**/" * 8 + "*.csv") == (found, once)
    assert work("**//**/a/**/**/*.csv")[0] == found
    assert work("**/**")[0] == work("**")[0] == found


def test_a_name_with_brackets_may_be_a_file(data: Path) -> None:
    (data / "d/x[1].csv").touch()
    assert names("d/x[1].csv") == ["d/x[1].csv"]


def test_a_dash_is_the_pipe() -> None:
    (source,) = find_sources("-")
    assert (source.path, source.name, source.suffix, source.is_pipe) == (None, "-", "", True)


def test_a_named_pipe_needs_no_suffix(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (source,) = find_sources(tmp_path / "pipe")
    assert source.is_pipe


@pytest.mark.parametrize(
    ("spec", "code", "found"),
    [
        ("d/bb.csv", "HG-021", "did you mean d/b.csv?"),
        ("d/b.parquet", "HG-021", "did you mean d/b.csv?"),
        ("dd", "HG-021", "did you mean d?"),
        ("d/zzzzzzzz.csv", "HG-021", "check the spelling"),
        ("nowhere/x.csv", "HG-021", "there is no folder nowhere"),
        ("x" * 5000, "HG-021", "check the spelling"),
        ("a\0b", "HG-021", "check the spelling"),
        ("d/sub/readme.txt", "HG-022", ".parquet .csv .ndjson .jsonl"),
        ("d/_temporary", "HG-023", "ends in .parquet"),
        ("d/*.jsonl", "HG-023", "ends in .parquet"),
    ],
)
def test_what_is_not_there_says_what_to_do(data: Path, spec: str, code: str, found: str) -> None:
    (data / "d/_temporary/x.csv").unlink()
    with pytest.raises(UsageError) as caught:
        find_sources(spec)
    assert caught.value.code == code
    assert found in str(caught.value)


def test_suffixes_decide_what_fits(data: Path) -> None:
    (data / "d/x.ttl").touch()
    assert [source.name for source in find_sources("d", DOCUMENT_SUFFIXES)] == ["x.ttl"]
    assert [source.name for source in find_sources("d", (*TABLE_SUFFIXES, ".ttl"))][-1] == "x.ttl"


@pytest.fixture
def deep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A file in so many folders; taken away again, as what clears up after tests cannot."""
    count = 1100
    monkeypatch.chdir(tmp_path)
    for _ in range(count):
        os.mkdir("a")
        os.chdir("a")
    Path("x.csv").touch()
    os.chdir(tmp_path)
    yield count
    os.chdir("a/" * count)
    os.unlink("x.csv")
    for _ in range(count):
        os.chdir("..")
        os.rmdir("a")


def test_folders_may_lie_a_thousand_deep(deep: int) -> None:
    assert names(".") == ["a/" * deep + "x.csv"]
    assert names("a/" * deep) == ["x.csv"]
    assert names("a/" * deep + "*.csv") == ["a/" * deep + "x.csv"]
    for glob in ("*/" * deep + "x.csv", "**/*.csv"):
        with pytest.raises(UsageError, match="HG-023"):
            names(glob)


def test_links_to_folders_are_not_followed_and_links_to_files_are(data: Path) -> None:
    (data / "d/again").symlink_to(data / "d")
    (data / "d/link.csv").symlink_to(data / "d/b.csv")
    (data / "d/gone.csv").symlink_to(data / "nowhere.csv")
    assert names("d") == ["a.parquet", "b.csv", "link.csv", "sub/c.NDJSON"]
