# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, spoken to over two pipes by its DevTools protocol (JSON ended by a zero byte): no driver, no other package."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


def find():
    return next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)


class Browser:
    def __init__(self, program):
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()
        self.profile = tempfile.TemporaryDirectory()

        def wire():  # the browser reads from 3 and writes to 4
            os.dup2(to_browser, 13), os.dup2(from_browser, 14)
            os.dup2(13, 3), os.dup2(14, 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}", "about:blank"],
            preexec_fn=wire, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser), os.close(from_browser)
        self.number, self.buffer, self.events, self.answers, self.session = 0, b"", [], {}, None
        page = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def take(self, seconds):
        """Reads what the browser says within so many seconds, one message at most."""
        until = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.read_end], [], [], left)[0]:
                return False
            got = os.read(self.read_end, 1 << 20)
            if not got:
                raise RuntimeError("the browser has ended")
            self.buffer += got
        message, _, self.buffer = self.buffer.partition(b"\0")
        said = json.loads(message)
        if "id" in said:
            self.answers[said["id"]] = said
        else:
            self.events.append(said)
        return True

    def call(self, method, **parameters):
        self.number += 1
        number = self.number
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write_end, data):]
        until = time.monotonic() + 150
        while number not in self.answers:
            if not self.take(max(until - time.monotonic(), 0)):
                raise RuntimeError(f"no answer to {method} within 150 s")
        said = self.answers.pop(number)
        if "error" in said:
            raise RuntimeError(f"{method}: {said['error']}")
        return said.get("result", {})

    def value(self, expression):
        got = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            raise RuntimeError(f"{expression}: {got['exceptionDetails']}")
        return got["result"].get("value")

    def wait(self, expression, seconds=30):
        """Whether an expression becomes true within so many seconds."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                if self.value(expression):
                    return True
            except RuntimeError as e: # another page is on its way
                if "navigated" not in str(e):
                    raise
            self.take(0.05)
        return False

    def size(self, width, height, phone):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def open(self, url):
        self.call("Page.navigate", url=url)
        if not self.wait(f"document.readyState === 'complete' && location.href.split('#')[0] === {json.dumps(url.split('#')[0])}"):
            raise RuntimeError(f"{url} is not loaded within 30 s")

    def requested(self):
        """Every address that was asked for so far."""
        return [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]

    def complaints(self):
        """Errors of scripts, and what the browser itself logs as an error."""
        said = [e["params"]["exceptionDetails"]["text"] + " " + str(e["params"]["exceptionDetails"].get("exception", {}).get("description", ""))
                for e in self.events if e["method"] == "Runtime.exceptionThrown"]
        return said + [f"{e['params']['entry']['text']} {e['params']['entry'].get('url', '')}" for e in self.events
                       if e["method"] == "Log.entryAdded" and e["params"]["entry"]["level"] == "error"]

    def picture(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def close(self):
        try:
            self.call("Browser.close")
        except (RuntimeError, OSError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
        os.close(self.write_end), os.close(self.read_end)
        self.profile.cleanup()
