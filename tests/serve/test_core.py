"""The plain protocol, limits, access, records and metrics, on a real socket."""

import gzip
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import cordwood
from cordwood import TextClassifier
from cordwood.serve import models as served
from cordwood.serve.calls import Call
from cordwood.serve.limits import Limits
from cordwood.serve.models import Models
from cordwood.serve.server import Settings, make_server
from matrix import LABELS, TEXTS

KEYS = {"reviews": "texts", "table": "rows", "topics": "texts", "numbers": "features"}
TOKEN = "a token of the tests"


def to_input(name, samples):
    if name == "table":
        return {column: [row[column] for row in samples] for column in samples[0]}
    return np.array(samples) if name == "numbers" else samples


@pytest.mark.parametrize("name", KEYS)
def test_predictions_are_those_of_the_model(client, models, samples, name):
    model, given = models[name], samples[name]
    status, found = client.post(f"/models/{name}/predict", {KEYS[name]: given})
    assert status == 200 and found["model"] == name
    X = to_input(name, given)
    proba, labels = model.predict_proba(X), model.predict(X)
    for each, expected, label in zip(found["predictions"], proba, labels, strict=True):
        values = [each["probabilities"][str(label)] for label in model.classes_]
        np.testing.assert_allclose(values, expected, atol=1e-9)
        assert list(each["probabilities"].values()) == sorted(values, reverse=True)
        if name == "topics":
            assert each["labels"] == list(label)
        else:
            assert each["label"] == label and each["probability"] == max(values)


def test_model_by_name_in_the_body(client):
    assert client.post("/predict", {"texts": ["soup"], "model": "topics"})[1]["model"] == "topics"
    status, found = client.post("/predict", {"texts": ["soup"], "model": "x"})
    assert status == 404
    assert found["error"] == "there is no model 'x'; there are: reviews, table, topics, numbers"


def test_options_are_those_of_classify(client, models):
    options = {"coverage": 0.9, "max_error": 0.3, "unknown": 0.05}
    found = client.post("/predict", {"texts": TEXTS[:20], "top": 1, **options})[1]["predictions"]
    expected = models["reviews"].classify(TEXTS[:20], **options)
    assert [tuple(each["set"]) for each in found] == expected.label_sets()
    assert [each["is_decided"] for each in found] == expected.is_decided.tolist()
    assert [each["is_in_scope"] for each in found] == expected.is_in_scope.tolist()
    assert all(len(each["probabilities"]) == 1 for each in found)


def test_explanations_add_up(client, models):
    status, reply = client.post("/explain", {"texts": TEXTS[:3], "labels": ["sport", "work"]})
    assert status == 200
    for found, expected in zip(
        reply["explanations"], models["reviews"].explain(TEXTS[:3]), strict=True
    ):
        assert found["classes"] == ["sport", "work"]
        words = np.sum([word["contributions"] for word in found["words"]], axis=0)
        np.testing.assert_allclose(np.add(found["baseline"], words), found["values"], atol=1e-6)
        np.testing.assert_allclose(found["values"], expected.values[1:], atol=1e-6)
        first = found["words"][0]
        assert found["text"][first["start"] : first["end"]] == first["word"]


def test_rows_are_explained(client, samples):
    status, reply = client.post("/models/table/explain", {"rows": samples["table"][:1]})
    assert status == 200 and reply["explanations"][0]["columns"]


def test_lines(client, models):
    lines = [json.dumps(text) for text in TEXTS[:40]] + ["", "3", "{", '{"text": "soup"}']
    response = client.request(
        "POST", "/predict?top=2", "\n".join(lines), {"content-type": "application/x-ndjson"}
    )
    found = [json.loads(line) for line in response.body.splitlines()]
    assert [each.get("label") for each in found[:40]] == models["reviews"].predict(
        TEXTS[:40]
    ).tolist()
    assert found[40]["error"].startswith("line 41: texts[40] must be a string")
    assert "line 42 is not valid JSON" in found[41]["error"]
    assert len(found[42]["probabilities"]) == 2


@pytest.mark.parametrize(
    ("path", "body", "status", "sentence"),
    [
        ("/predict", {}, 422, "give exactly one of texts, rows and features"),
        ("/predict", {"texts": ["a"], "rows": []}, 422, "give exactly one of"),
        ("/predict", {"texts": [1]}, 422, "texts[0] must be a valid string"),
        ("/predict", {"rows": [{}]}, 422, "the model 'reviews' takes texts, each a string"),
        ("/predict", {"texts": ["a"], "coverage": 2}, 422, "coverage must be less than 1"),
        ("/predict", {"texts": ["a"], "cover": 2}, 422, "cover Extra inputs"),
        ("/predict", [], 422, "the body must be an object of JSON"),
        ("/explain", {"texts": ["a"], "labels": ["x"]}, 422, "labels: 'x' is no class"),
        ("/models/numbers/explain", {"features": [[0.0] * 24]}, 422, "only models of texts"),
        ("/models/table/predict", {"rows": [{"body": "a"}]}, 422, 'rows[0] has no column "kind"'),
        (
            "/models/table/predict",
            {"rows": [{"body": "a", "price": "x", "kind": "b"}]},
            422,
            "the column \"price\", row 0, is 'x', not a number",
        ),
        ("/models/numbers/predict", {"features": [[1.0]]}, 422, "features[0] must be a list of 24"),
        ("/models/topics/predict", {"texts": ["a"], "coverage": 0.9}, 422, "one label per sample"),
        ("/models/x/predict", {"texts": ["a"]}, 404, "there is no model 'x'"),
        ("/x", {}, 404, "there is nothing at this path"),
    ],
)
def test_errors_are_one_sentence(client, path, body, status, sentence):
    found_status, found = client.post(path, body)
    assert (found_status, sentence in found["error"]) == (status, True), found
    assert "\n" not in found["error"]


@pytest.mark.parametrize(
    "body", [b"", b"{", b'{"texts": ["\\ud800"]}', b"\xff\xfe", b"[" * 100_000, b'{"texts": [NaN]}']
)
def test_invalid_json(client, body):
    response = client.request("POST", "/predict", body)
    assert response.status == 400
    assert "not valid JSON" in json.loads(response.body)["error"]


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "\x00\x1b[31m", "\u202eabc", "", " ", "soup " * 200_000]
)
def test_unusual_texts(client, models, text):
    status, found = client.post("/predict", {"texts": [text]})
    if len(text) > 1_000_000:
        return
    assert status == 200
    assert found["predictions"][0]["label"] == models["reviews"].predict([text])[0]
    assert client.post("/explain", {"texts": [text[:1000]]})[0] == 200


@pytest.mark.parametrize(
    "path", ["/health", "/healthz", "/ping", "/v2/health/live", "/v2/health/ready"]
)
def test_health(client, path):
    assert client.get(path).status == 200


def test_version(client):
    assert client.get("/version").body.decode() == cordwood.__version__


def test_ids_and_timing(client):
    parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    response = client.request(
        "POST",
        "/predict",
        '{"texts": ["soup"]}',
        {"x-request-id": "abc-1", "traceparent": parent},
    )
    assert response.headers["x-request-id"] == "abc-1"
    assert response.headers["traceparent"] == parent
    stages = [part.split(";")[0] for part in response.headers["server-timing"].split(", ")]
    assert stages == ["read", "parse", "queue", "predict", "total"]
    response = client.get("/health", **{"x-request-id": "a b\x7f"})
    assert len(response.headers["x-request-id"]) == 32


def test_metrics(client):
    client.post("/predict", {"texts": ["soup"]})
    page = client.get("/metrics").body.decode()
    assert 'http_route="/predict",http_response_status_code="200",le="+Inf"}' in page
    assert 'cordwood_predictions_total{model="reviews",label="food"}' in page
    parser = pytest.importorskip("prometheus_client.parser", reason="needs prometheus_client")
    families = {family.name: family for family in parser.text_string_to_metric_families(page)}
    assert families["http_server_request_duration_seconds"].type == "histogram"
    assert {sample.labels["model"] for sample in families["cordwood_model_info"].samples} == {*KEYS}


def test_report(client):
    response = client.get("/models/reviews/report")
    assert response.status == 200 and b"<html" in response.body
    response = client.get("/models/topics/report")
    assert response.status == 422 and b"requires one label per sample" in response.body


def test_limits_are_stated_and_hold(serve, files):
    limits = Limits(body_bytes=2000, samples=3, text_length=50, explained_samples=1)
    with serve([files["reviews"]], limits=limits) as client:
        stated = json.loads(client.get("/v2").body)["limits"]
        assert stated == limits.model_dump()
        assert client.post("/predict", {"texts": ["a"] * 3})[0] == 200
        status, found = client.post("/predict", {"texts": ["a"] * 4})
        assert status == 413 and "more than the limit of 3" in found["error"]
        assert client.post("/explain", {"texts": ["a"] * 2})[0] == 413
        status, found = client.post("/predict", {"texts": ["a" * 51]})
        assert status == 422 and "texts[0] has 51 characters" in found["error"]
        status, found = client.post("/predict", {"texts": ["a" * 2000]})
        assert status == 413 and "limit of 2,000 bytes" in found["error"]
        bomb = gzip.compress(b" " * 10_000_000)[:1990]
        response = client.request("POST", "/predict", bomb, {"content-encoding": "gzip"})
        assert response.status == 413
        # Lines are free of the number of samples.
        lines = "\n".join(['"a"'] * 100)
        response = client.request(
            "POST", "/predict", lines, {"content-type": "application/x-ndjson"}
        )
        assert len(response.body.splitlines()) == 100


def test_chunked_body_is_limited(serve, files):
    with serve([files["reviews"]], limits=Limits(body_bytes=2000)) as client:
        connection = http.client.HTTPConnection(client.host, client.port, timeout=20)
        parts = (b" " * 500 for _ in range(8))
        headers = {"transfer-encoding": "chunked"}
        connection.request("POST", "/predict", parts, headers, encode_chunked=True)
        with connection.getresponse() as response:
            assert response.status == 413
        connection.close()


def test_timeout_and_concurrency(serve, files, monkeypatch):
    predict = served.ServedModel.predict

    def slow(self, samples, options):
        time.sleep(0.5)
        return predict(self, samples, options)

    monkeypatch.setattr(served.ServedModel, "predict", slow)
    limits = Limits(seconds=0.2, workers=1, client_requests=2)
    with serve([files["reviews"]], limits=limits) as client:
        status, found = client.post("/predict", {"texts": ["a"]})
        assert status == 503 and "longer than the limit of 0.2 s" in found["error"]
        results = []
        threads = [
            threading.Thread(
                target=lambda: results.append(client.post("/predict", {"texts": ["a"]})[0])
            )
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(results) == {429, 503}
        assert client.get("/health").status == 200


def test_token(serve, files):
    with serve([files["reviews"]], token=TOKEN) as client:
        body = json.dumps({"texts": ["soup"]})
        assert client.request("POST", "/predict", body).status == 401
        right = {"authorization": f"Bearer {TOKEN}"}
        assert client.request("POST", "/predict", body, right).status == 200
        assert client.get("/health").status == client.get("/").status == 200
        assert client.get("/metrics").status == 401
        start = time.perf_counter()
        response = client.request("POST", "/predict", body, {"authorization": "Bearer wrong"})
        assert response.status == 401 and time.perf_counter() - start > 0.15
        assert response.headers["www-authenticate"] == "Bearer"
        statuses = []
        threads = [
            threading.Thread(
                target=lambda: statuses.append(
                    client.request("POST", "/predict", body, {"authorization": "Bearer no"}).status
                )
            )
            for _ in range(12)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(statuses) == {401, 429}
        assert client.request("POST", "/predict", body, right).status == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "[", ""])
def test_other_hosts_are_rejected(client, host):
    assert client.get("/models", host=host).status == 403


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:8000", "a.localhost"])
def test_names_of_this_computer(client, host):
    assert client.get("/models", host=host).status == 200


def test_other_origins_are_rejected(client):
    headers = {"origin": "http://evil.example", "host": "localhost"}
    assert client.request("POST", "/predict", '{"texts": ["a"]}', headers).status == 403
    headers = {"origin": "http://localhost:8", "host": "localhost:8"}
    assert client.request("POST", "/predict", '{"texts": ["a"]}', headers).status == 200


@pytest.mark.parametrize(
    "path", ["/page/../app.py", "/page/%2e%2e/app.py", "/page//etc/passwd", "/page/..%2fapp.py"]
)
def test_no_path_traversal(client, path):
    assert client.get(path).status == 404


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"host": "0.0.0.0"}, "other computers can use the server; give --token, or --no-auth"),
        ({"token": "short"}, "at least 16 characters"),
        ({"token": "a tökén of the tests"}, "all ASCII"),
        ({"token": TOKEN, "no_auth": True}, "alternatives"),
    ],
)
def test_address_needs_a_token(files, settings, sentence):
    with pytest.raises(cordwood.CordwoodError, match=sentence):
        make_server([files["reviews"]], Settings(**settings), print)


def test_same_names_are_rejected(files, tmp_path):
    copy = shutil.copy(files["reviews"], tmp_path)
    with pytest.raises(cordwood.CordwoodError, match="several models have the name 'reviews'"):
        Models([files["reviews"], Path(copy)])


def test_replaced_file_is_loaded(serve, files, tmp_path):
    path = tmp_path / "reviews.cordwood"
    shutil.copy(files["reviews"], path)
    with serve([path]) as client:
        assert client.post("/predict", {"texts": ["soup"]})[1]["version"] == "1"
        path.write_bytes(b"damaged")
        time.sleep(3)
        assert client.post("/predict", {"texts": ["soup"]})[1]["version"] == "1"
        renamed = ["meal" if label == "food" else label for label in LABELS]
        new = TextClassifier("svm").fit(TEXTS, renamed)
        new.save(path)
        for _ in range(40):
            time.sleep(0.25)
            found = client.post("/predict", {"texts": ["soup"]})[1]
            if found["version"] == "2":
                break
        assert found["predictions"][0]["label"] == "meal"
        assert json.loads(client.get("/v2/models/reviews").body)["versions"] == ["2"]


def test_request_keeps_its_model(models):
    class Swapping:
        def get(self, name):
            return object()

    state = SimpleNamespace(service=SimpleNamespace(models=Swapping()))
    request = SimpleNamespace(
        app=SimpleNamespace(state=state), scope={"trace": None}, path_params={}
    )
    call = Call(request)
    assert call.model is call.model


def test_slow_and_half_closed_clients_do_not_stop_others(serve, files):
    limits = Limits(connections=20, idle_seconds=1)
    with serve([files["reviews"]], limits=limits) as client:
        idle = [socket.create_connection((client.host, client.port)) for _ in range(60)]
        slow = socket.create_connection((client.host, client.port))
        slow.sendall(b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        half = socket.create_connection((client.host, client.port))
        half.sendall(b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Le")
        half.shutdown(socket.SHUT_WR)
        assert client.post("/predict", {"texts": ["soup"]})[0] == 200
        slow.settimeout(10)
        assert b"408" in slow.recv(1000).splitlines()[0]
        time.sleep(1.5)
        idle[-1].settimeout(5)
        assert idle[-1].recv(10) == b""
        for each in (*idle, slow, half):
            each.close()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_command_serves_logs_and_stops(files, tmp_path):
    command = [sys.executable, "-m", "cordwood", "serve", str(files["reviews"]), "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        line = ""
        while "serving" not in line:
            line = process.stdout.readline()
            assert line or process.poll() is None, process.stderr.read()
        host, port = line.split()[1].removeprefix("http://").split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=30)
        connection.request("POST", "/predict", '{"texts": ["secret soup"]}')
        assert connection.getresponse().status == 200
        connection.close()
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=40)
    assert process.returncode == -signal.SIGTERM
    (record,) = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    assert record["route"] == "/predict" and record["n_samples"] == 1
    assert "secret" not in log
