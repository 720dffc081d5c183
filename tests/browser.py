"""A browser for the tests of pages."""

import base64
import json
import os
import shutil
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

selenium = pytest.importorskip("selenium")
pytest.importorskip("selenium.webdriver")

BROWSER = os.environ.get("CORDWOOD_BROWSER") or shutil.which("chromium")
DRIVER = os.environ.get("CORDWOOD_WEBDRIVER") or shutil.which("chromedriver")
# axe-core is a package of npm: the path of axe.min.js.
AXE = os.environ.get("CORDWOOD_AXE")
PICTURES = os.environ.get("CORDWOOD_PICTURES")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

MARKS = [
    pytest.mark.skipif(
        not (BROWSER and DRIVER), reason="needs chromium and chromedriver in the PATH"
    ),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@contextmanager
def open_browser(make_folder):
    options = selenium.webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS, f"--user-data-dir={make_folder('profile')}"):
        options.add_argument(flag)
    downloads = make_folder("downloads")
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = selenium.webdriver.ChromeService(executable_path=DRIVER)
    browser = selenium.webdriver.Chrome(options=options, service=service)
    browser.downloads = downloads
    try:
        yield browser
    finally:
        browser.quit()


def set_screen(driver, *, width=1280, height=900, theme="light"):
    """Emulate a screen; narrow ones are those of phones."""
    features = [{"name": "prefers-color-scheme", "value": theme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "screen", "features": features})
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def reset_screen(driver):
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


def overflow(driver, selector="html"):
    """By how many pixels the content is wider than the element."""
    return driver.execute_script(
        "const e = document.querySelector(arguments[0]); return e.scrollWidth - e.clientWidth",
        selector,
    )


def list_contrasts(driver, selector):
    """Contrast of each text with what is behind it; 4.5 is the minimum of WCAG, level AA."""
    return driver.execute_script(CONTRASTS, selector)


# Translucent backgrounds are mixed with those of the elements around.
CONTRASTS = """
const parse = c => [...c.match(/[0-9.]+/g).map(Number), 1].slice(0, 4);
const dark = matchMedia('(prefers-color-scheme: dark)').matches && matchMedia('screen').matches;
const canvas = dark ? [18, 18, 18] : [255, 255, 255];
const behind = e => {
  if (e === null) return canvas;
  const [r, g, b, a] = parse(getComputedStyle(e).backgroundColor);
  if (a === 0) return behind(e.parentElement);
  const under = a < 1 ? behind(e.parentElement) : canvas;
  return [r, g, b].map((x, i) => a * x + (1 - a) * under[i]);
};
const opacity = e => e === null ? 1 : getComputedStyle(e).opacity * opacity(e.parentElement);
const luminance = v => { const [r, g, b] = v.map(x => {
  x /= 255; return x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
return Array.from(document.querySelectorAll(arguments[0])).map(e => {
  const style = getComputedStyle(e), ground = behind(e);
  const [r, g, b, a] = parse(e.closest('svg') ? style.fill : style.color);
  const alpha = a * opacity(e);
  const painted = [r, g, b].map((c, i) => alpha * c + (1 - alpha) * ground[i]);
  const [x, y] = [painted, ground].map(luminance);
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
});
"""


def save_picture(driver, name):
    """Save a picture of the whole page if someone wants to look at it."""
    if not PICTURES:
        return
    size = driver.execute_script(
        "const e = document.documentElement; return [innerWidth, e.scrollHeight]"
    )
    clip = {"x": 0, "y": 0, "width": size[0], "height": min(size[1], 12_000), "scale": 1}
    shot = {"captureBeyondViewport": True, "clip": clip}
    picture = driver.execute_cdp_cmd("Page.captureScreenshot", shot)
    Path(PICTURES, f"{name}.png").write_bytes(base64.b64decode(picture["data"]))


def wait_for(driver, condition, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(driver.find_element("css selector", "main").text)


def get(driver, selector):
    return driver.find_element("css selector", selector)


def shown(driver, selector):
    return wait_for(driver, lambda: get(driver, selector).is_displayed() and get(driver, selector))


def check_accessibility(driver):
    if not AXE:
        return
    driver.execute_script(Path(AXE).read_text(encoding="utf-8"))
    found = driver.execute_async_script("axe.run().then(arguments[0])")
    assert not found["violations"], json.dumps(found["violations"], indent=1)[:3000]
