"""Reports in a browser: sections, sorting, filters, themes, print; nothing leaves the page."""

import base64
import csv
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import report_data as data
from browser import MARKS, list_contrasts, open_browser, overflow, save_picture, set_screen
from cordwood import TextClassifier
from cordwood.cli.main import load_command
from cordwood.compare import comparison_report
from cordwood.reports import dataset_report

pytestmark = MARKS

SECTIONS = {
    "dataset": ["overview", "findings", "classes", "lengths", "languages", "examples"],
    "comparison": [
        "overview",
        "scores",
        "intervals",
        "ranks",
        "time",
        "curves",
        "method",
    ],
    "model": [
        "overview",
        "next",
        "classes",
        "confusion",
        "confidence",
        "labels",
        "explained",
        "words",
        "members",
        "data",
        "card",
    ],
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    corpus = data.make_corpus(120, noise=0.2)
    comparison, curves = data.make_comparison(n_learners=14)
    model = TextClassifier(encoder=None).fit(corpus)
    reports = {
        "dataset": dataset_report(corpus, name=data.MARKUP),
        "comparison": comparison_report(comparison, curves, name=data.MARKUP),
        "model": model.report(X=corpus, name=data.MARKUP),
    }
    for name, report in reports.items():
        report.save(folder / f"{name}.html")
    return {name: (folder / f"{name}.html").as_uri() for name in reports}


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with open_browser(tmp_path_factory.mktemp) as browser:
        yield browser


def open_page(browser, address, *, width=1280, theme="light", script=True):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not script})
    set_screen(browser, width=width, theme=theme)
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(address)


def list_requests(browser):
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]


@pytest.mark.parametrize("kind", SECTIONS)
def test_every_section_is_shown_without_errors_or_requests(browser, pages, kind):
    open_page(browser, pages[kind])
    shown = browser.execute_script(
        "return Array.from(document.querySelectorAll('main > section'))"
        ".filter(s => s.offsetHeight > 0).map(s => s.id)"
    )
    assert shown == SECTIONS[kind]
    assert browser.get_log("browser") == []
    assert set(list_requests(browser)) == {pages[kind]}


@pytest.mark.parametrize("kind", SECTIONS)
@pytest.mark.parametrize("width", [390, 800, 1280])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_page_fits_the_width_and_has_contrast(browser, pages, kind, width, theme):
    open_page(browser, pages[kind], width=width, theme=theme)
    assert overflow(browser) <= 0
    assert min(list_contrasts(browser, "p, td, th, a, .note, figcaption, dt, svg text")) >= 4.5
    save_picture(browser, f"report-{kind}-{theme}-{width}")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colored_entries_have_contrast(browser, pages, theme):
    open_page(browser, pages["model"], theme=theme)
    contrasts = list_contrasts(browser, ".heat td, mark")
    assert len(contrasts) > 20
    assert min(contrasts) >= 4.5


@pytest.mark.parametrize("kind", SECTIONS)
def test_screen_readers_have_headings_labels_and_table_headers(browser, pages, kind):
    open_page(browser, pages[kind])
    levels = browser.execute_script(
        "return Array.from(document.querySelectorAll('h1, h2, h3, h4, h5, h6'))"
        ".map(h => Number(h.tagName[1]))"
    )
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(second <= first + 1 for first, second in zip(levels[:-1], levels[1:], strict=True))
    unlabelled = browser.execute_script(
        "return ["
        "  ...document.querySelectorAll('svg:not([role=img][aria-label])'),"
        "  ...document.querySelectorAll('table:not([aria-label]), th:not([scope])'),"
        "  ...Array.from(document.querySelectorAll('tbody tr'))"
        "    .filter(r => !r.querySelector('th[scope=row]')),"
        "  ...Array.from(document.querySelectorAll('input')).filter(i => !i.closest('label')),"
        "].map(e => e.outerHTML)"
    )
    assert unlabelled == []
    assert browser.execute_script("return document.documentElement.lang") == "en"


@pytest.mark.parametrize("kind", SECTIONS)
def test_keyboard_reaches_the_content_and_focus_is_visible(browser, pages, kind):
    open_page(browser, pages[kind], width=390)
    body = browser.find_element("css selector", "body")
    body.send_keys("\ue004")  # tab
    skip = browser.switch_to.active_element
    assert skip.get_attribute("href").endswith("#main")
    assert skip.rect["x"] >= 0
    for _ in range(40):
        browser.switch_to.active_element.send_keys("\ue004")
        outline = browser.execute_script(
            "const e = document.activeElement;"
            "return e === document.body ? 'solid' : getComputedStyle(e).outlineStyle"
        )
        assert outline != "none"
    # Areas that do not scroll are not among the stops of the tab key.
    stops = browser.execute_script(
        "return Array.from(document.querySelectorAll('.scroll, .plot'))"
        ".filter(e => (e.tabIndex === 0) !== (e.scrollWidth > e.clientWidth)).length"
    )
    assert stops == 0


def test_header_sorts_a_table(browser, pages):
    open_page(browser, pages["model"])
    read = (
        "return Array.from(document.querySelectorAll('#classes tbody tr'))"
        ".map(r => parseFloat(r.cells[arguments[0]].dataset.sort))"
    )
    header = browser.find_elements("css selector", "#classes thead button")[5]
    header.click()
    descending = browser.execute_script(read, 5)
    assert descending == sorted(descending, reverse=True)
    header.click()
    assert browser.execute_script(read, 5) == descending[::-1]
    state = browser.execute_script(
        "return Array.from(document.querySelectorAll('#classes thead th'))"
        ".map(h => h.getAttribute('aria-sort'))"
    )
    assert [each for each in state if each] == ["ascending"] and state[5] == "ascending"
    assert browser.get_log("browser") == []


def test_header_sorts_by_the_keyboard(browser, pages):
    open_page(browser, pages["comparison"])
    button = browser.find_element("css selector", "#scores thead button")
    button.send_keys("\ue007")  # enter
    names = browser.execute_script(
        "return Array.from(document.querySelectorAll('#scores table')[0].tBodies[0].rows)"
        ".map(r => r.cells[0].textContent.trim())"
    )
    # As a person would number them, not "learner 10" before "learner 2".
    numbers = [int(name.split()[1]) for name in names]
    assert numbers == sorted(numbers) and len(numbers) == 14


def test_filter_hides_other_rows(browser, pages):
    open_page(browser, pages["comparison"])
    browser.find_element("css selector", "#scores .filter input").send_keys("LEARNER 12")
    shown = browser.execute_script(
        "return Array.from(document.querySelectorAll('#scores table')[0].tBodies[0].rows)"
        ".filter(r => r.offsetHeight > 0).map(r => r.cells[0].textContent.trim())"
    )
    assert shown == ["learner 12"]
    status = browser.find_element("css selector", "#scores .filter [role=status]")
    assert status.text == "1 of 14 rows"


def test_entry_of_the_confusion_matrix_opens_examples(browser, pages):
    open_page(browser, pages["model"])
    link = browser.find_element("css selector", "#confusion .heat td a")
    target = link.get_attribute("href").partition("#")[2]
    assert not browser.find_element("id", target).is_displayed()
    link.click()
    assert browser.find_element("id", target).is_displayed()


@pytest.mark.parametrize("kind", SECTIONS)
def test_content_does_not_need_the_script(browser, pages, kind):
    open_page(browser, pages[kind])
    with_script = browser.execute_script("return document.querySelector('main').textContent")
    open_page(browser, pages[kind], script=False)
    # Scripts of the page are disabled; the driver's own are not.
    run = browser.execute_cdp_cmd
    run("Emulation.setScriptExecutionDisabled", {"value": False})
    without = browser.execute_script("return document.querySelector('main').textContent")
    assert not browser.find_elements("css selector", "thead button, .filter")
    assert without.split() == with_script.replace("Filter rows", "").split()


def test_printed_page_is_light_and_contains_everything(browser, pages):
    open_page(browser, pages["model"], theme="dark")
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]},
    )
    style = browser.execute_script(
        "const s = getComputedStyle(document.body);"
        "return [s.backgroundColor, getComputedStyle(document.querySelector('nav')).display]"
    )
    assert style == ["rgb(255, 255, 255)", "none"]
    # Unlike a screen, paper does not scroll: nothing may be wider than A4 within its margins.
    size = {"width": 718, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    too_wide = browser.execute_script(
        "return Array.from(document.querySelectorAll('#classes table, svg, .heat'))"
        ".filter(e => e.getBoundingClientRect().right > innerWidth).length"
    )
    assert too_wide == 0
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert base64.b64decode(printed["data"]).startswith(b"%PDF")


def test_markup_in_the_data_does_not_run(browser, pages):
    for address in pages.values():
        open_page(browser, address)
        assert browser.execute_script("return document.querySelectorAll('img').length") == 0
        assert data.MARKUP in browser.execute_script("return document.title")


COMMAND = Path(sys.executable).with_name("cordwood.exe" if os.name == "nt" else "cordwood")
TICKETS = {
    "transfer_not_received_by_recipient": ("transfer", "recipient", "arrived", "money", "friend"),
    "wrong_exchange_rate_for_cash\u200b_withdrawal": ("rate", "exchange", "cash", "abroad", "euro"),
    "card_payment_fee_charged": ("fee", "card", "payment", "charged", "shop"),
}
# A text that is too long for a line, and characters that nobody sees.
LONG = " ".join(f"the {word} of {i} days" for i in range(12) for word in ("fee", "card", "shop"))


@pytest.fixture(scope="module")
def tickets(tmp_path_factory):
    """Addresses of the pages that the installed command writes of a file with odd characters."""
    folder = tmp_path_factory.mktemp("tickets")
    labels = list(TICKETS)
    rows = []
    for i in range(90):
        words = TICKETS[labels[i % 3]]
        text = f"My {words[i % 5]} and the {words[i // 3 % 5]} \u202e{i}"
        rows.append((f"ticket-{i}-{'x' * 40}", text, labels[(i + (i % 21 == 1)) % 3]))
    rows.append(("long", LONG, labels[2]))
    new = [("a", "the fee of a card is not the rate", labels[2]), ("b", LONG, labels[1])]
    new.append(("empty", " ", labels[0]))
    for name, part in (("tickets.csv", rows), ("new.csv", new)):
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("id", "body", "label"), *part])
    train = ("train", "tickets.csv", "--text", "body", "--encoder", "none")
    report = ("--report", "report.html")
    why = ("explain", "tickets.cordwood", "new.csv", "--training", "tickets.csv")
    for arguments in ((*train, *report), (*why, "--html", "explanation.html")):
        subprocess.run([COMMAND, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return {name: (folder / f"{name}.html").as_uri() for name in ("report", "explanation")}


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_report_of_long_labels_fits(browser, tickets, width, theme):
    open_page(browser, tickets["report"], width=width, theme=theme)
    assert overflow(browser) <= 0
    if width == 1280:  # the last column is not cut
        assert overflow(browser, "#classes .scroll") <= 0
    save_picture(browser, f"tickets-report-{theme}-{width}")


def test_hidden_characters_of_suspects_are_visible(browser, tickets):
    open_page(browser, tickets["report"])
    shown = browser.execute_script("return document.querySelector('#labels').innerText")
    assert "<U+202E>" in shown
    assert "wrong_exchange_rate_for_cash<U+200B>_withdrawal" in shown


def test_report_has_the_command_that_shows_suspects_one_by_one(browser, tickets):
    open_page(browser, tickets["report"])
    program, name, *arguments = shlex.split(
        browser.find_element("css selector", "#labels .command").text
    )
    assert (program, name) == ("cordwood", "label")
    given = load_command(name).make_context(name, arguments).params
    assert given["data"] == ["tickets.csv"] and given["review"] is True
    assert (given["text"], given["model"]) == (["body"], Path("tickets.cordwood"))


def test_intervals_are_wide_enough_to_be_seen(browser, tickets):
    open_page(browser, tickets["report"])
    widths = browser.execute_script(
        "return Array.from(document.querySelectorAll('#overview svg line.bar'))"
        ".map(line => line.getBoundingClientRect().width)"
    )
    assert max(widths) > 25
    # The axis does not begin at zero, far from the scores.
    first = browser.find_element("css selector", "#overview svg .tick[text-anchor=middle]")
    assert float(first.text) >= 30


def test_explanation_begins_with_the_text_and_ends_with_the_numbers(browser, tickets):
    open_page(browser, tickets["explanation"])
    assert browser.title == "Why tickets.cordwood predicts what it predicts"
    first, second, empty = browser.find_elements("css selector", "article")
    # Only what is visible: the numbers are folded.
    lines = [line for line in first.text.splitlines() if line.strip()]
    assert lines[0] == "id a · true label card_payment_fee_charged · predicted correctly"
    assert lines[1] == "the fee of a card is not the rate"
    assert " speak for card_payment_fee_charged; " in lines[2] and lines[2].endswith("% sure.")
    assert lines[3].startswith("blue speaks for card_payment_fee_charged")
    assert lines[4] == "Runner-up" and lines[6] == "Similar training texts"
    assert lines[7].startswith("card_payment_fee_charged: ")
    assert lines[-1] == "Numbers" and "log-odds" not in first.text
    words = {each.text for each in first.find_elements("css selector", ".text .for")}
    assert {"fee", "card"} <= words
    assert f"{LONG}\ntraining text long" in second.text and "cash<U+200B>_" in second.text
    assert "predicted wrongly" in second.text
    assert "No words, no label. The text is empty" in empty.text
    assert "Runner-up" not in empty.text
    first.find_element("css selector", "summary").click()
    assert "log-odds" in first.text and "baseline" in first.text


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_explanations_fit_and_have_contrast(browser, tickets, width, theme):
    open_page(browser, tickets["explanation"], width=width, theme=theme)
    assert overflow(browser) <= 0
    assert set(list_requests(browser)) == {tickets["explanation"]}
    assert len(list_contrasts(browser, ".text span")) > 3
    assert (
        min(list_contrasts(browser, "h1, h3, p, li, em, summary, .text, .text span, .note")) >= 4.5
    )
    save_picture(browser, f"tickets-explanation-{theme}-{width}")
    # Not by color alone.
    words = browser.execute_script(
        "return Array.from(document.querySelectorAll('.text span[class]'))"
        ".map(e => [e.className, getComputedStyle(e).textDecorationLine])"
    )
    for name, line in words:
        assert (line == "underline") == name.startswith("against")
