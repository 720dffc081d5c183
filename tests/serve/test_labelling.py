"""Routes of `cordwood label`, on a real socket."""

import csv
import io
import json
import threading

import pytest

from cordwood.labelling.samples import digest
from cordwood.serve.limits import Limits
from label_projects import make_project, read_csv, wait_for, write_csv
from label_servers import running
from matrix import LABELS, TEXTS

CLASSES = {label: [f"about {label}"] for label in sorted(set(LABELS))}
TRUTH = dict(reversed(list(zip(TEXTS, LABELS, strict=True))))
TOKEN = "a token of the tests"


@pytest.fixture
def data(tmp_path):
    return write_csv(tmp_path / "d.csv", [(text, "") for text in TRUTH])


@pytest.fixture
def client(tmp_path, data):
    project = make_project(data, tmp_path / "out.csv", descriptions=CLASSES, guidelines="Be fair.")
    with running(project) as client:
        yield client


def post(client, route, **values):
    status, found = client.post(f"/label/{route}", {"annotator": "ann", **values})
    assert status == 200, found
    return found


def describe(client):
    response = client.get("/label/project?annotator=ann")
    assert response.status == 200
    return json.loads(response.body)


def test_a_session(client, tmp_path):
    found = describe(client)
    assert found["n_samples"] == len(TRUTH) and found["guidelines"] == "Be fair."
    assert found["classes"][0] == {"name": "food", "description": "about food", "n": 0}
    assert found["annotators"] == ["ann"] and found["progress"]["labelled"] == 0
    for position in range(12):
        found = post(client, "next", filter={}, skip=[])
        sample = found["sample"]
        assert found["remaining"] == len(TRUTH) - position
        stored = post(
            client,
            "labels",
            id=sample["id"],
            action="label",
            labels=[TRUTH[sample["text"]]],
            seconds=1.5,
            suggestion_shown=sample["suggestion"] is not None,
        )
        assert stored["progress"]["labelled"] == position + 1
    model = wait_for(lambda: describe(client)["model"]["state"] == "ready")
    assert model
    sample = post(client, "next", filter={"state": "unlabelled"})["sample"]
    assert set(sample) == {
        *("id", "text", "context", "state", "labels", "reason", "reason_sentence"),
        *("suggestion", "votes", "neighbors", "question"),
    }
    assert sample["suggestion"]["source"] == "model"
    assert post(client, "sample", id=sample["id"])["sample"]["reason"] == "listed"
    post(client, "labels", id=sample["id"], action="unsure")
    undone = post(client, "undo")
    assert undone["sample"]["id"] == sample["id"] and undone["sample"]["state"] == "unlabelled"
    classes = post(client, "classes", action="add", name="new", description="what is new")
    assert classes["classes"][-1] == {"name": "new", "description": "what is new", "n": 0}
    post(client, "labels", id=sample["id"], action="label", labels=["new"])
    classes = post(client, "classes", action="merge", name="new", into="food")["classes"]
    assert [each["name"] for each in classes] == ["food", "sport", "work"]
    listed = post(client, "list", filter={"class": "food", "state": "labelled"}, limit=100)
    assert sample["id"] in [row["id"] for row in listed["rows"]]
    assert set(listed["rows"][0]) == {"id", "text", "labels", "state", "suspicion"}
    wait_for(lambda: (tmp_path / "out.csv").exists() and read_csv(tmp_path / "out.csv"))


def test_labels_are_stored_before_the_reply(client, tmp_path):
    sample = post(client, "next")["sample"]
    post(client, "labels", id=sample["id"], action="label", labels=["food"])
    # Another process sees it at once, although the output is not written yet.
    other = make_project(tmp_path / "d.csv", tmp_path / "out.csv")
    assert other.state.decided == {other.find(sample["id"]).index: ("food",)}
    other.store.close()


def test_pages(client):
    root = client.get("/")
    assert root.status == 307 and root.headers["location"] == "/label"
    assert client.get("/health").status == 200
    missing = client.get("/predict")
    assert missing.status == 404 and json.loads(missing.body)["error"]


@pytest.mark.parametrize("format", ["csv", "xlsx", "jsonl", "label-studio", "prodigy", "doccano"])
def test_exports(client, format):
    for text in list(TRUTH)[:3]:
        post(client, "labels", id=digest(text), action="label", labels=[TRUTH[text]])
    response = client.get(f"/label/export?format={format}")
    assert response.status == 200
    assert "attachment; filename*=UTF-8''out" in response.headers["content-disposition"]
    if format == "csv":
        rows = list(csv.DictReader(io.StringIO(response.body.decode())))
        assert {row["text"]: row["label"] for row in rows} == {
            text: TRUTH[text] for text in list(TRUTH)[:3]
        }
    elif format != "xlsx":
        lines = response.body.decode()
        found = json.loads(lines) if format == "label-studio" else lines.splitlines()
        assert len(found) == 3


HOSTILE = [
    ("next", {"annotator": ""}, 422),
    ("next", {"annotator": "a\nb"}, 422),
    ("next", {"annotator": "x" * 101}, 422),
    ("next", {"annotator": 5}, 422),
    ("next", {}, 422),
    ("next", {"annotator": "a", "more": 1}, 422),
    ("next", {"annotator": "a", "filter": {"state": "all"}}, 422),
    ("next", {"annotator": "a", "filter": {"search": "x" * 1001}}, 422),
    ("next", {"annotator": "a", "skip": ["x"] * 1001}, 422),
    ("sample", {"annotator": "a", "id": "nothing"}, 404),
    ("sample", {"annotator": "a", "id": "\ud800"}, 400),
    ("labels", {"annotator": "a", "id": "nothing", "action": "label", "labels": ["food"]}, 404),
    ("labels", {"annotator": "a", "action": "label"}, 422),
    ("undo", {"annotator": "a"}, 422),
    ("classes", {"annotator": "a", "action": "drop", "name": "food"}, 422),
    ("classes", {"annotator": "a", "action": "add", "name": " "}, 422),
    ("classes", {"annotator": "a", "action": "add", "name": "food"}, 422),
    ("classes", {"annotator": "a", "action": "merge", "name": "food"}, 422),
    ("classes", {"annotator": "a", "action": "merge", "name": "food", "into": "food"}, 422),
    ("classes", {"annotator": "a", "action": "describe", "name": "nothing"}, 422),
    ("list", {"annotator": "a", "limit": 101}, 422),
    ("list", {"annotator": "a", "offset": -1}, 422),
    ("list", {"annotator": "a", "offset": 10**30}, 422),
    ("list", [], 422),
]


@pytest.fixture(scope="module")
def shared_client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    data = write_csv(folder / "d.csv", [(text, "") for text in TRUTH])
    project = make_project(data, folder / "out.csv", descriptions=CLASSES)
    with running(project, limits=Limits(body_bytes=100_000)) as client:
        yield client


@pytest.mark.parametrize(("route", "body", "status"), HOSTILE)
def test_hostile_bodies(shared_client, route, body, status):
    found, reply = shared_client.post(f"/label/{route}", body)
    assert found == status
    assert "\n" not in reply["error"] and len(reply["error"]) > 10


@pytest.mark.parametrize(
    "change",
    [
        {"labels": ["nothing"]},
        {"labels": []},
        {"labels": ["food", "work"]},
        {"labels": "food"},
        {"labels": ["food"] * 1001},
        {"action": "keep"},
        {"action": "delete"},
        {"labels": ["food"], "seconds": -1},
        {"labels": ["food"], "seconds": "long"},
    ],
)
def test_invalid_labels(shared_client, change):
    body = {"annotator": "a", "id": digest(TEXTS[0]), "action": "label", "labels": ["food"]}
    status, reply = shared_client.post("/label/labels", {**body, **change})
    assert status == 422 and reply["error"]
    progress = json.loads(shared_client.get("/label/project").body)["progress"]
    assert progress["labelled"] == 0


def test_limits(shared_client):
    for content, status in ((b"{", 400), (b"x" * 100_001, 413), (b'{"annotator": NaN}', 400)):
        assert shared_client.request("POST", "/label/next", content).status == status
    assert shared_client.get("/label/next").status == 405
    for format in ("", "pdf", "../x"):
        response = shared_client.get(f"/label/export?format={format}")
        assert response.status == 422 and b"format must be one of" in response.body


def test_token_and_sources(tmp_path, data):
    project = make_project(data, tmp_path / "out.csv", descriptions=CLASSES)
    with running(project, token=TOKEN) as client:
        for path in ("/label/project", "/label/export?format=csv"):
            assert client.get(path).status == 401
        found = client.get("/label/project", Authorization=f"Bearer {TOKEN}")
        assert found.status == 200
        assert client.get("/").status == 307  # the page, which has the field for the token
        rebound = client.get("/label/project", Host="evil.example")
        assert rebound.status == 403


def test_foreign_pages_cannot_label(shared_client):
    response = shared_client.request(
        "POST", "/label/undo", b"{}", {"Origin": "https://evil.example"}
    )
    assert response.status == 403


def test_several_labels(tmp_path, data):
    project = make_project(data, tmp_path / "out.csv", descriptions=CLASSES, is_multilabel=True)
    with running(project) as client:
        assert describe(client)["is_multilabel"] is True
        one, two, *_ = map(digest, TRUTH)
        post(client, "labels", id=one, action="label", labels=["food", "work"])
        post(client, "labels", id=two, action="label", labels=[])
        found = post(client, "list", filter={"state": "labelled"})["rows"]
        assert [row["labels"] for row in found] == [["food", "work"], []]
    assert [row["label"] for row in read_csv(tmp_path / "out.csv")] == ["food;work", ""]


def test_many_clients_at_once(client):
    ids = [digest(text) for text in TRUTH]
    replies = []

    def work(name, own):
        for id in own:
            body = {"annotator": name, "id": id, "action": "label", "labels": ["food"]}
            replies.append(client.post("/label/labels", body)[0])

    threads = [
        threading.Thread(target=work, args=(f"ann {i}", ids[10 * i : 10 * i + 10]))
        for i in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert replies == [200] * 50
    progress = describe(client)["progress"]
    assert progress["labelled"] == 50 and progress["by_annotator"] == {
        f"ann {i}": 10 for i in range(5)
    }
