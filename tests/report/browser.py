"""A headless Chromium for tests; without one they are skipped, or fail where it is demanded."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DEMANDED = "VELOCITY_LEDGER_NEED_BROWSER"
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars",
)  # fmt: skip
WIDE, NARROW = (1280, 900), (390, 844)


def missing() -> str:
    """What a browser test lacks here; empty where it lacks nothing."""
    programs = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"no {' and no '.join(programs)} here" if programs else ""


def lacking(reason: str) -> None:
    """Skip the test, saying why; fail it where a browser is demanded."""
    if os.environ.get(DEMANDED):
        pytest.fail(f"{reason}, and {DEMANDED} is set")
    pytest.skip(f"{reason}: install chromium and chromium-driver to try the page")


class Browser:
    """A driver with what the tests ask of it."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def cdp(self, command: str, **options: Any) -> Any:
        return self.driver.execute_cdp_cmd(command, options)

    def js(self, code: str, *arguments: Any) -> Any:
        return self.driver.execute_script(code, *arguments)

    def open(
        self,
        page: Path,
        size: tuple[int, int] = WIDE,
        scheme: str = "light",
        *,
        media: str = "",
        motion: str = "reduce",
        scripts: bool = True,
    ) -> None:
        """Open a page; without motion, so that what is asked for is there at once."""
        self.cdp(
            "Emulation.setDeviceMetricsOverride",
            width=size[0], height=size[1], deviceScaleFactor=1, mobile=size == NARROW,
        )  # fmt: skip
        self.cdp("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.emulate(scheme, media=media, motion=motion)
        self.driver.get(page.as_uri())

    def emulate(self, scheme: str = "light", *, media: str = "", motion: str = "reduce") -> None:
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": motion},
        ]
        self.cdp("Emulation.setEmulatedMedia", media=media, features=features)

    def find(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements("css selector", selector)

    def keys(self, *names: str) -> None:
        """Press keys, one after the other, by the names that Selenium gives them."""
        from selenium.webdriver.common.action_chains import ActionChains
        from selenium.webdriver.common.keys import Keys

        chain = ActionChains(self.driver)
        for name in names:
            chain.send_keys(getattr(Keys, name))
        chain.perform()

    def said(self) -> list[str]:
        """What the console has said since it was last asked."""
        return [f"{e['level']}: {e['message']}" for e in self.driver.get_log("browser")]

    def until(self, true: Callable[[], object], seconds: float = 10.0) -> None:
        """Wait for what takes time."""
        end = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < end, "it did not happen in time"
            time.sleep(0.05)


def started(profile: Path) -> Browser:
    """Start a browser with an empty profile."""
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (*_FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = Service(shutil.which("chromedriver") or "")
    return Browser(webdriver.Chrome(options=options, service=service))
