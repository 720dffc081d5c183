"""Models of the Hugging Face hub, by the library huggingface_hub."""

from importlib import import_module
from pathlib import Path

from cordwood.exceptions import CordwoodError

# No code, and no weights in pickle format.
_PATTERNS = ("*.json", "*/config.json", "model.safetensors", "*/model.safetensors")


def fetch_from_hub(name: str, *, allow_download: bool) -> Path:
    """Return the local folder of a model of the hub, downloaded before unless `allow_download`."""
    try:
        hub = import_module("huggingface_hub")
    except ImportError:
        raise CordwoodError(
            f"encoder {name!r} is neither installed nor an existing folder; to load it from the "
            "Hugging Face hub, install the package huggingface_hub"
        ) from None
    try:
        folder = hub.snapshot_download(
            name, allow_patterns=list(_PATTERNS), local_files_only=not allow_download
        )
    except Exception as error:  # of many types, for networks, names and permissions
        if not allow_download:
            raise CordwoodError(
                f"encoder {name!r} is neither an existing folder nor in the local cache of the "
                f"Hugging Face hub; download it with `hf download {name}`, or set "
                "allow_download=True in Python"
            ) from None
        first_line = str(error).strip().partition("\n")[0]
        raise CordwoodError(f"encoder {name!r} cannot be downloaded: {first_line}") from None
    return Path(folder)
