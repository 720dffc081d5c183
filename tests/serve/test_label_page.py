"""The page of `cordwood label` in a browser: keyboard, review, lost servers, hostile texts."""

import socket
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from itertools import count

import pytest

from browser import (
    MARKS,
    check_accessibility,
    get,
    overflow,
    reset_screen,
    save_picture,
    set_screen,
    shown,
    wait_for,
)
from label_projects import make_project, write_csv
from label_servers import running
from serve_client import Client

webdriver = pytest.importorskip("selenium.webdriver")
Select = pytest.importorskip("selenium.webdriver.support.ui").Select

pytestmark = MARKS
Keys = webdriver.Keys

WORDS = {
    "food": "soup bread waiter menu dessert cook plate",
    "sport": "team goal match coach league player score",
    "tech": "phone screen battery laptop software update camera",
}
NAMES = list(WORDS)
TOKENS = "a token of the tests", "another one of the tests"


def make_texts(n):
    """Texts of three topics, each of which has three words of its topic."""
    texts = []
    for i in range(n):
        words = WORDS[NAMES[i % 3]].split()
        chosen = [words[(i // 3 + j) % len(words)] for j in (0, 2, 3)]
        texts.append(f"Number {i}: the {chosen[0]}, a {chosen[1]} and one {chosen[2]}.")
    return texts


def topic_of(text):
    return max(NAMES, key=lambda name: sum(word in text for word in WORDS[name].split()))


class Server:
    """A process of `cordwood label`, which can be killed and started again."""

    def __init__(self, *arguments):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.command = [sys.executable, "-m", "cordwood", "label", *map(str, arguments)]
        self.command += ["--encoder", "none", "--port", str(self.port), "--no-browser"]
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while True:
            try:
                return Client(self.address).get("/label")
            except OSError:
                assert self.process.poll() is None and time.monotonic() < end
                time.sleep(0.1)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        self.process.wait()


def list_texts(server, **filters):
    body = {"annotator": "Ann", "filter": filters, "offset": 0, "limit": 100}
    status, found = Client(server.address).post("/label/list", body)
    assert status == 200, found
    return found["rows"]


def write_data(folder, texts, labels):
    rows = zip(texts, labels or [""] * len(texts), strict=True)
    return write_csv(folder / "data.csv", rows)


@pytest.fixture
def serve(tmp_path):
    """Serve texts, with their labels or with names of classes."""
    numbers = count()
    with ExitStack() as stack:

        def start(texts, *, labels=None, classes=NAMES, **settings):
            data = write_data(tmp_path, texts, labels)
            settings.setdefault("descriptions", {} if labels else dict.fromkeys(classes))
            output = tmp_path / f"out-{next(numbers)}.csv"
            project = make_project(data, output, **settings)
            client = stack.enter_context(running(project))
            client.store = project.store
            return client

        yield start


@pytest.fixture
def launch(tmp_path):
    """Serve texts by the command."""
    data = write_data(tmp_path, make_texts(30), None)
    classes = write_csv(tmp_path / "classes.csv", [(name,) for name in NAMES], ("name",))
    output = tmp_path / "out.csv"
    with ExitStack() as stack:

        def start(*options):
            server = Server(data, "-o", output, "--text", "text", "--classes", classes, *options)
            stack.callback(server.kill)
            return server

        yield start


@pytest.fixture
def page(driver):
    driver.get_log("browser")
    yield driver
    found = [entry for entry in driver.get_log("browser") if "Content Sec" in entry["message"]]
    # Labels that are not saved must not stop the next test.
    stop = "addEventListener('beforeunload', e => e.stopImmediatePropagation(), true)"
    driver.execute_script(stop)
    driver.get("about:blank")
    assert not found


def press(page, *keys):
    for key in keys:
        page.switch_to.active_element.send_keys(key)


def enter(page, server, name="Ann"):
    page.get("about:blank")
    page.get(f"{server.address}/label")
    field = shown(page, "#annotator")
    field.clear()
    field.send_keys(name, Keys.ENTER)
    shown(page, "#work")


def begin(page, server, name="Ann"):
    enter(page, server, name)
    return wait_for_text(page)


def wait_for_text(page, previous=None, seconds=20):
    """Return the text on the screen, once it is another one."""
    find_text = """const find = (id) => document.getElementById(id);
        const isReady = find("sample").matches(":focus") && find("sample").checkVisibility();
        return isReady && find("text").textContent;"""
    return wait_for(
        page, lambda: (text := page.execute_script(find_text)) != previous and text, seconds
    )


def wait_until_loaded(page, n):
    """Wait until n texts were sent, the last of which is not on the screen yet."""
    find_sent = """return performance.getEntriesByType("resource")
        .filter((each) => each.name.endsWith("/label/next")).length"""
    wait_for(page, lambda: page.execute_script(find_sent) >= n)


def wait_for_words(page, selector, words):
    wait_for(page, lambda: words in get(page, selector).text)


def label(page, n, keys=None):
    """Label n texts by key; return them."""
    keys = keys or {name: str(i + 1) for i, name in enumerate(NAMES)}
    texts = []
    for _ in range(n):
        texts.append(wait_for_text(page, texts[-1] if texts else None))
        press(page, keys[topic_of(texts[-1])])
    return texts


def test_keyboard_alone(page, serve):
    server = serve(make_texts(60))
    begin(page, server)
    texts = label(page, 30)
    wait_for_words(page, "#counts", "30 of 60 labelled")
    assert len(set(texts)) == 30
    rows = list_texts(server, state="labelled")
    assert {row["text"]: row["labels"] for row in rows} == {t: [topic_of(t)] for t in texts}
    # The last label is undone and given again as another one.
    current = wait_for_text(page, texts[-1])
    press(page, "u")
    assert wait_for_text(page, current) == texts[-1]
    wait_for_words(page, "#counts", "29 of 60 labelled")
    wrong = (NAMES.index(topic_of(texts[-1])) + 1) % 3
    press(page, str(wrong + 1))
    assert wait_for_text(page, texts[-1]) == current
    press(page, "s")
    other = wait_for_text(page, current)
    press(page, "n")
    wait_for_text(page, other)
    wait_for_words(page, "#others", "1 skipped · 1 not sure")
    assert [row["text"] for row in list_texts(server, state="skipped")] == [current]
    assert [row["text"] for row in list_texts(server, state="unsure")] == [other]
    (row,) = list_texts(server, search=texts[-1][: texts[-1].index(":") + 1])
    assert row["labels"] == [NAMES[wrong]]
    check_accessibility(page)


def test_held_key_labels_one_text(page, serve):
    server = serve(make_texts(9))
    text = begin(page, server)
    for repeat in (False, True, True):
        event = {"type": "keyDown", "key": "1", "text": "1", "autoRepeat": repeat}
        page.execute_cdp_cmd("Input.dispatchKeyEvent", event)
    following = wait_for_text(page, text)
    press(page, "s")
    wait_for_words(page, "#others", "1 skipped")
    assert [row["text"] for row in list_texts(server, state="labelled")] == [text]
    assert [row["text"] for row in list_texts(server, state="skipped")] == [following]


def test_help_and_switched_off_keys(page, serve):
    server = serve(make_texts(9))
    text = begin(page, server)
    press(page, "?")
    assert shown(page, "#help")
    check_accessibility(page)
    press(page, Keys.SPACE)  # the focus is on "Single keys"
    press(page, Keys.ESCAPE)
    press(page, "1", "s")
    get(page, "#open-help").click()
    press(page, Keys.SPACE)
    press(page, Keys.ESCAPE)
    press(page, "2")
    wait_for_text(page, text)
    wait_for_words(page, "#counts", "1 of 9 labelled")
    events = [(each.action, each.labels) for each in server.store.read(0) if each.sample]
    assert events == [("label", (NAMES[1],))]


def test_suggestions_can_be_hidden(page, serve):
    descriptions = {name: words.split() for name, words in WORDS.items()}
    server = serve(make_texts(30), descriptions=descriptions)
    begin(page, server)
    texts = label(page, 3)

    def is_ready():
        found = server.post("/label/next", {"annotator": "Ben"})[1]["sample"]
        return found["suggestion"] and found["neighbors"]

    def list_shown():
        hints = ("#suggestion", "#accept", "#neighbors", "#text mark", "#classes .suggested")
        return {
            each
            for each in hints
            if any(e.is_displayed() for e in page.find_elements("css selector", each))
        }

    wait_for(page, is_ready)
    for _ in range(2):  # the second one was sent after that
        texts.append(wait_for_text(page, texts[-1]))
        press(page, "s")
    text = wait_for_text(page, texts[-1])
    assert len(list_shown()) == 5
    press(page, "h")
    assert list_shown() == set()
    assert get(page, "#hide").get_attribute("aria-pressed") == "true"
    check_accessibility(page)
    press(page, "a")  # which accepts nothing that cannot be seen
    press(page, "1")
    following = wait_for_text(page, text)
    assert list_shown() == set()
    press(page, "h")
    assert len(list_shown()) == 5
    press(page, "a")
    wait_for_text(page, following)
    wait_for_words(page, "#counts", "5 of 30 labelled")
    *_, hidden, accepted = (each for each in server.store.read(0) if each.action == "label")
    assert (hidden.labels, hidden.details["suggestion_shown"]) == ((NAMES[0],), False)
    assert accepted.labels == (topic_of(following),) and accepted.details["suggestion_shown"]


def test_type_ahead_and_new_class(page, serve):
    classes = [f"{kind} {i}" for kind in ("biology", "chemistry", "économie") for i in range(12)]
    server = serve(make_texts(9), classes=classes)
    first = begin(page, server)
    assert len(page.find_elements("css selector", "#classes button")) == 9
    press(page, "/", "chem 11")
    assert not page.find_elements("css selector", "#options [role=option]:not(#option-0)")
    press(page, Keys.ESCAPE)
    press(page, "/", "istry 1", Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    active = get(page, "#type").get_attribute("aria-activedescendant")
    assert get(page, f"#{active}").text == "chemistry 11"
    assert get(page, f"#{active}").get_attribute("aria-selected") == "true"
    check_accessibility(page)
    press(page, Keys.ENTER)
    second = wait_for_text(page, first)
    press(page, "/", "economie 3", Keys.ENTER)  # accents may be omitted
    third = wait_for_text(page, second)
    press(page, "/", "zoology", Keys.ENTER)
    shown(page, "#new-class")
    check_accessibility(page)
    press(page, "Texts about animals.", Keys.TAB, Keys.ENTER)
    wait_for_text(page, third)
    wait_for_words(page, "#saved", "Saved: zoology.")
    found = {row["text"]: row["labels"] for row in list_texts(server, state="labelled")}
    assert found == {first: ["chemistry 11"], second: ["économie 3"], third: ["zoology"]}
    press(page, "g")
    assert "Texts about animals." in get(page, "#descriptions").text
    check_accessibility(page)


def test_find_and_relabel(page, serve):
    server = serve(make_texts(12))
    begin(page, server)
    texts = label(page, 3)
    wait_for_words(page, "#counts", "3 of 12 labelled")
    press(page, "t")
    wait_for_words(page, "#list-title", "12 texts")
    check_accessibility(page)
    get(page, "#search").send_keys(texts[1][:9], Keys.ENTER)
    wait_for_words(page, "#list-title", "1 text")
    get(page, "#rows button").click()
    assert wait_for_text(page) == texts[1]
    new = NAMES[(NAMES.index(topic_of(texts[1])) + 1) % 3]
    press(page, str(NAMES.index(new) + 1))
    wait_for_words(page, "#rows", new)
    assert page.switch_to.active_element.get_attribute("data-id")
    (row,) = list_texts(server, search=texts[1][:9])
    assert row["labels"] == [new]
    # The texts of one class.
    get(page, "#clear").click()
    wait_for_words(page, "#list-title", "12 texts")
    Select(get(page, "#class")).select_by_value(new)
    get(page, "#filter button").click()
    expected = {texts[1], *(t for t in texts if t != texts[1] and topic_of(t) == new)}
    wait_for_words(page, "#list-title", f"{len(expected)} text")
    assert {e.text for e in page.find_elements("css selector", "#rows bdi:first-child")} >= expected


def test_several_labels(page, serve):
    server = serve(make_texts(9), is_multilabel=True)
    text = begin(page, server)
    press(page, "1", "2", "3", "2")
    pressed = page.find_elements("css selector", "#classes [aria-pressed=true] .name")
    assert [each.text for each in pressed] == [NAMES[0], NAMES[2]]
    assert not list_texts(server, state="labelled")
    check_accessibility(page)
    press(page, Keys.ENTER)
    wait_for_text(page, text)
    wait_for_words(page, "#counts", "1 of 9 labelled")
    (row,) = list_texts(server, state="labelled")
    assert (row["text"], sorted(row["labels"])) == (text, [NAMES[0], NAMES[2]])


def serve_with_wrong_labels(serve):
    texts = make_texts(90)
    labels = [topic_of(text) for text in texts]
    wrong = {4: "food", 20: "sport", 33: "tech"}
    for i, name in wrong.items():
        labels[i] = name
    return serve(texts, is_review=True, labels=labels), {texts[i]: labels[i] for i in wrong}


def test_review(page, serve):
    server, wrong = serve_with_wrong_labels(serve)
    enter(page, server)
    first = wait_for_text(page, seconds=60)
    assert get(page, "#question").text
    assert first in wrong
    assert topic_of(first) in get(page, "#accept-proposal").text
    assert wrong[first] in get(page, "#keep").text
    assert page.find_elements("css selector", "#neighbors li")
    check_accessibility(page)
    press(page, "a")
    second = wait_for_text(page, first)
    press(page, "k")
    wait_for_words(page, "#saved", "Kept: ")
    found = {row["text"]: row["labels"] for row in list_texts(server)}
    assert found[first] == [topic_of(first)]
    assert found[second] == [wrong.get(second, topic_of(second))]
    assert not {first, second} & {row["text"] for row in list_texts(server, state="suspicious")}


def test_spellings_are_merged(page, serve):
    texts = make_texts(30)
    labels = [topic_of(text) for text in texts]
    labels[0] = labels[3] = "Food"
    server = serve(texts, labels=labels)
    enter(page, server)
    button = shown(page, "#spellings button")
    check_accessibility(page)
    assert button.text == "Merge into “food”"
    button.click()
    wait_for(page, lambda: not page.find_elements("css selector", "#spellings button"))
    counts = Counter(tuple(row["labels"]) for row in list_texts(server))
    assert counts == {(name,): 10 for name in NAMES}


def test_server_is_killed_and_started_again(page, launch):
    server = launch()
    begin(page, server)
    texts = label(page, 5)
    wait_for_words(page, "#counts", "5 of 30 labelled")
    text = wait_for_text(page, texts[-1])
    wait_until_loaded(page, 7)
    server.kill()
    press(page, "1")
    wait_for_words(page, "#problem", "1 label is kept in this window")
    assert "not saved" in get(page, "#saved").text
    assert "Saved" not in get(page, "#saved").text
    following = wait_for_text(page, text)  # it was loaded before
    press(page, "2")
    wait_for_words(page, "#problem", "2 labels are kept in this window")
    assert "The next text comes" in get(page, "#empty-title").text
    check_accessibility(page)
    server.start()
    wait_for_words(page, "#counts", "7 of 30 labelled")
    found = {row["text"]: row["labels"] for row in list_texts(server, state="labelled")}
    assert found[text] == [NAMES[0]] and found[following] == [NAMES[1]]
    assert wait_for_text(page, text) not in found
    assert not get(page, "#problem").is_displayed()
    # The page is closed and opened again.
    begin(page, server)
    assert get(page, "#counts").text == "7 of 30 labelled"


def test_server_has_stopped(page, launch):
    server = launch()
    begin(page, server)
    server.stop()
    press(page, "t")
    wait_for_words(page, "#problem", "The server does not answer; is it still running?")
    check_accessibility(page)
    server.start()
    get(page, "#retry").click()
    wait_for_words(page, "#list-title", "30 texts")
    assert not get(page, "#problem").is_displayed()


def test_token(page, launch):
    server = launch("--token", TOKENS[0])
    page.get(f"{server.address}/label")
    field = shown(page, "#token")
    assert not get(page, "#problem").is_displayed() and not get(page, "#start").is_displayed()
    check_accessibility(page)
    field.send_keys(TOKENS[1], Keys.ENTER)
    wait_for_words(page, "#problem", "the token is wrong")
    field.clear()
    field.send_keys(TOKENS[0], Keys.ENTER)
    shown(page, "#annotator").send_keys(Keys.ENTER)
    label(page, 1)
    wait_for_words(page, "#counts", "1 of 30 labelled")
    # The server has another token when it is started again.
    server.kill()
    server.command[server.command.index(TOKENS[0])] = TOKENS[1]
    server.start()
    press(page, "1")
    wait_for_words(page, "#problem", "1 label is kept in this window")
    field = shown(page, "#token")
    field.clear()
    field.send_keys(TOKENS[1], Keys.ENTER)
    wait_for_words(page, "#counts", "2 of 30 labelled")
    assert not get(page, "#problem").is_displayed() and not field.is_displayed()
    stored = "return Object.keys(localStorage).length + Object.keys(sessionStorage).length"
    assert page.get_cookies() == [] and page.execute_script(stored) == 0


def test_undo_of_a_label_that_is_not_saved(page, launch):
    server = launch()
    text = begin(page, server)
    wait_until_loaded(page, 2)
    server.kill()
    press(page, "1")
    following = wait_for_text(page, text)
    wait_for_words(page, "#problem", "1 label is kept")
    press(page, "u")
    assert wait_for_text(page, following) == text
    press(page, "2")
    wait_for_words(page, "#problem", "1 label is kept")
    server.start()
    wait_for_words(page, "#counts", "1 of 30 labelled")
    (row,) = list_texts(server, state="labelled")
    assert (row["text"], row["labels"]) == (text, [NAMES[1]])


def test_two_annotators(page, serve):
    server = serve(make_texts(4))
    begin(page, server, "Ann")
    label(page, 4)
    wait_for_words(page, "#counts", "4 of 4 labelled")
    begin(page, server, "<b>Ben</b>")
    texts = label(page, 3)
    text = wait_for_text(page, texts[-1])
    wrong = (NAMES.index(topic_of(text)) + 1) % 3
    press(page, str(wrong + 1))
    wait_for_words(page, "#agreement", "2 annotators gave the same labels to 3 of 4 texts")
    assert "Ann 4" in get(page, "#others").text and "<b>Ben</b> 4" in get(page, "#others").text
    check_accessibility(page)


HOSTILE = {
    "html": "<img src=x onerror=alert(1)><script>alert(2)</script><b>bold</b> &amp; &lt;",
    "rtl": "left \u202e right-to-left \u202c \u200fשלום مرحبا end",
    "control": "bell \x07 escape \x1b[31m delete \x7f tab\tend 😀",
    "long": "word " * 1_000_000,
    "unbroken": "x" * 3000,
}


def test_hostile_texts(page, serve):
    classes = ["<i>food</i>", "שלום", "t" * 90]
    server = serve([*HOSTILE.values(), *make_texts(3)], classes=classes)
    begin(page, server)
    found = []
    for _ in range(len(HOSTILE) + 3):
        found.append(wait_for_text(page, found[-1] if found else None))
        assert not page.find_elements("css selector", "main img, #text b, #text script, #classes i")
        assert overflow(page) <= 0
        if found[-1].startswith("word") and get(page, "#cut").is_displayed():
            assert "5,000,000 characters" in get(page, "#cut").text
            get(page, "#cut button").click()
            wait_for(page, lambda: not get(page, "#cut").is_displayed())
            found[-1] = page.execute_script("return document.getElementById('text').textContent")
        check_accessibility(page)
        press(page, "1")
    shown(page, "#empty")
    shown_control = HOSTILE["control"].translate({0x07: 0x2407, 0x1B: 0x241B, 0x7F: 0x2421})
    expected = {**HOSTILE, "control": shown_control}
    assert {text.strip() for text in found} >= {text.strip() for text in expected.values()}
    wait_for_words(page, "#counts", "8 of 8 labelled")


@pytest.mark.parametrize(("theme", "width"), [("light", 1000), ("dark", 390)])
def test_every_size_and_theme(page, serve, theme, width):
    def check(name):
        assert overflow(page) <= 0
        check_accessibility(page)
        save_picture(page, f"label-{name}-{theme}-{width}")

    set_screen(page, width=width, theme=theme)
    try:
        begin(page, serve(make_texts(60)))
        label(page, 12)
        wait_for_words(page, "#model-sentence", "A model of")
        check("text")
        enter(page, serve_with_wrong_labels(serve)[0])
        wait_for_text(page, seconds=60)
        assert shown(page, "#question")
        check("review")
        press(page, "t")
        wait_for_words(page, "#list-title", "3 texts")
        check("list")
    finally:
        reset_screen(page)
