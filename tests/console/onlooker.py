"""Whoever looks at a page: with a screen reader, by keyboard alone, on a phone, in the dark.

The rules of accessibility are those of axe-core (names, roles, landmarks, order of headings, labels, contrast of the
colours as they are drawn), which somebody else wrote; what it does not look at is asked of the browser here.
"""

from __future__ import annotations

import time
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.machine import chromium, lacks

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
)

LAPTOP, PICTURE = {"width": 1366, "height": 850}, {"width": 1160, "height": 720}
PHONE, SMALL_PHONE = {"width": 390, "height": 844}, {"width": 360, "height": 740}

QUIET = "!document.querySelector('.htmx-request, .htmx-swapping, .htmx-settling, .htmx-added')"
"""Nothing is on its way into the page."""

VIOLATIONS = """axe.run(document, {resultTypes: ["violations"]}).then((found) => found.violations.flatMap(
  (one) => one.nodes.map((node) => one.id + " " + node.target.join(" ") + " " + node.html.slice(0, 120))))"""

STOPS = """() => [...document.querySelectorAll(
  "a[href], button, input, select, textarea, summary, [tabindex='0']")].filter((one) =>
   one.checkVisibility() && !one.disabled && one.type !== "hidden" && one.tabIndex >= 0).length"""

FOCUSED = """() => {
  const one = document.activeElement, box = one.getBoundingClientRect(), style = getComputedStyle(one);
  return {
    name: one === document.body ? "" : (one.getAttribute("aria-label") || one.labels?.[0]?.innerText || one.innerText
      || one.title || "").trim(),
    field: one.name || "",
    seen: box.width > 0 && box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth,
    ring: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
  };
}"""


@cache
def axe() -> str:
    """The script of axe-core; the test ends here where it is not installed, see `lacks`."""
    try:
        package = import_module("axe_playwright_python")
    except ImportError:
        lacks("axe-playwright-python is not installed (make test installs it)")
    return (Path(str(package.__file__)).parent / "axe.min.js").read_text()


def launched(running: Any) -> Any:
    """A browser."""
    return running.chromium.launch(executable_path=chromium(), args=list(ARGUMENTS))


def settled(page: Any) -> None:
    """Wait until a page has all that it loads by itself."""
    page.wait_for_load_state()
    end = time.monotonic() + 30
    while not page.evaluate(QUIET):
        assert time.monotonic() < end, f"{page.url} never comes to rest"
        page.wait_for_timeout(20)


class Onlooker:
    """Somebody who looks at every page in each way, and notes what is wrong.

    Args:
      page: a page of a browser.
      pictures: where pictures are left; None for none.

    Attributes:
      wrong: what was wrong, by page.
    """

    def __init__(self, page: Any, pictures: Path | None) -> None:
        self.page, self.pictures = page, pictures
        self.wrong: dict[str, list[str]] = {}
        own = page.url.split("/", 3)[:3]
        page.on("pageerror", lambda error: self._note(str(error)))
        page.on("console", lambda said: self._note(said.text) if said.type == "error" else None)
        page.on("request", lambda one: None if one.url.split("/", 3)[:3] == own else self._elsewhere(one.url))

    def report(self) -> str:
        """What was wrong, a line each."""
        return "\n".join(f"{url}: {one}" for url, said in self.wrong.items() for one in dict.fromkeys(said))

    def _note(self, what: str) -> None:
        self.wrong.setdefault(self.page.url, []).append(what)

    def _elsewhere(self, url: str) -> None:
        if not url.startswith(("data:", "blob:", "about:")):
            self._note(f"asks elsewhere: {url}")

    def look(self, picture: str = "", *, phone: bool = False, dark: bool = False) -> None:
        """Look at the page as it is: light on a laptop, dark on a phone; it fits both, and the smallest phone.

        Args:
          picture: keep a picture under this name.
          phone, dark: what the picture is of.
        """
        page = self.page
        settled(page)
        chosen = page.evaluate("document.documentElement.dataset.theme")
        for theme, size in (("light", LAPTOP), ("dark", PHONE)):
            page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)
            page.set_viewport_size(size)
            page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
            if page.evaluate("typeof axe === 'undefined'"):
                page.evaluate(axe())
            for found in page.evaluate(VIOLATIONS):
                self._note(f"{theme}: {found}")
            self._fits(size)
        page.set_viewport_size(SMALL_PHONE)
        self._fits(SMALL_PHONE)
        if picture and self.pictures is not None:
            page.set_viewport_size(PHONE if phone else PICTURE)
            page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", "dark" if dark else "light")
            page.evaluate("window.scrollTo(0, 0)")
            page.screenshot(path=str(self.pictures / f"{picture}.png"), animations="disabled", caret="hide")
        page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", chosen)
        page.set_viewport_size(LAPTOP)

    def _fits(self, size: dict[str, int]) -> None:
        wide = self.page.evaluate("document.documentElement.scrollWidth")
        if wide > size["width"]:
            self._note(f"is {wide} wide on {size['width']}")

    def walk(self) -> None:
        """Go through the page with Tab: each stop has a name, is in sight and shows its focus; none is a trap."""
        settled(self.page)
        page, stops = self.page, self.page.evaluate(STOPS)
        page.evaluate("window.scrollTo(0, 0); document.activeElement.blur()")
        for number in range(stops):
            page.keyboard.press("Tab")
            stop = page.evaluate(FOCUSED)
            if not (stop["name"] or stop["field"]) or not stop["seen"] or not stop["ring"]:
                self._note(f"stop {number} of {stops}: {stop}")


def by_name(page: Any, role: str, name: str) -> Any:
    """What a screen reader calls so."""
    return page.get_by_role(role, name=name)


def tab_to(page: Any, name: str, most: int = 120) -> None:
    """Press Tab until what bears a name has the focus."""
    settled(page)
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate(FOCUSED)["name"].startswith(name):
            return
    raise AssertionError(f"no {name!r} is reached by keyboard at {page.url}")
