"""Signs in to the console with Canaille, in Chromium.

Usage: main.py DIRECTORY, with the environment of run.
"""

import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.request

directory = pathlib.Path(sys.argv[1])
console, issuer = os.environ["PUSHREG_PUBLIC_URL"], os.environ["PUSHREG_OIDC_ISSUER"]
secret = os.environ["PUSHREG_OIDC_CLIENT_SECRET"]
failures = 0


def check(is_true, sentence):
    global failures
    failures += not is_true
    print(f"{'ok' if is_true else 'FAILED'}: {sentence}", file=sys.stdout if is_true else sys.stderr)


def wait_for(condition, sentence, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if condition():
                return
        except OSError:
            pass
        time.sleep(0.2)
    raise SystemExit(f"FAILED: {sentence} did not happen in {seconds} s")


def call(method, url, body=None, **fields):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", **fields}, method=method)
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


class Browser:
    """A session of the W3C's WebDriver protocol."""

    def __init__(self, driver):
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]}
        wishes = {"browserName": "chrome", "goog:chromeOptions": options}
        answer = call("POST", f"{driver}/session", {"capabilities": {"alwaysMatch": wishes}})
        self.base = f"{driver}/session/{answer['value']['sessionId']}"

    def open(self, url):
        call("POST", f"{self.base}/url", {"url": url})

    def address(self):
        return call("GET", f"{self.base}/url")["value"]

    def run(self, script):
        return call("POST", f"{self.base}/execute/sync", {"script": script, "args": []})["value"]

    def text(self):
        return self.run("return document.body.innerText")

    def fill(self, **fields):
        """Fills in the fields of the page, and submits the form of the last one."""
        for name, value in fields.items():
            self.run(f"document.querySelector('[name={name}]').value = {json.dumps(value)}")
        self.press(f"document.querySelector('[name={name}]').form.querySelector('button[type=submit], [type=submit]')")

    def press(self, element):
        self.run(f"window.isLeft = true; {element}.click()")
        wait_for(lambda: self.run("return !window.isLeft && document.readyState === 'complete'"), element)

    def close(self):
        call("DELETE", self.base)


def start_provider():
    port, redirect = issuer.rsplit(":", 1)[1], f"{console}/console/sign-in/callback"
    script = pathlib.Path(__file__).with_name("provider.py")
    log = (directory / "provider.log").open("ab")
    command = [os.environ["PROVIDER_PYTHON"], str(script), port, "console", secret, redirect]
    process = subprocess.Popen(command, stdout=log, stderr=log, cwd=directory)
    wait_for(lambda: call("GET", f"{issuer}/.well-known/openid-configuration"), "the provider's start")
    return process


def sign_in(browser, name):
    browser.open(f"{console}/console/com.example.food/sandbox/keys")
    browser.press("document.querySelector('form[action$=provider] button')")
    wait_for(lambda: browser.address().startswith(issuer), f"the provider's page for {name}")
    browser.fill(login=name)
    browser.fill(password=f"{name}'s password")
    if browser.address().startswith(issuer):
        browser.press("document.querySelector('button[name=answer][value=accept]')")
    wait_for(lambda: browser.address().startswith(console), f"the return of {name}")
    shows = "return document.querySelector('form[action$=sign-out], #fault') !== null"
    wait_for(lambda: browser.run(shows), "the console's page")


def main():
    driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
    try:
        line = next(line for line in driver.stdout if "started successfully on port" in line)
        port = line.split("on port ")[1].split(".")[0].strip()
        work(f"http://127.0.0.1:{port}")
    finally:
        driver.kill()


def work(driver):
    browser = Browser(driver)
    browser.open(f"{console}/console/sign-in")
    browser.press("document.querySelector('form[action$=provider] button')")
    check("is not available now" in browser.text(), "while the provider is down, the page says so")
    browser.fill(key=os.environ["AUDITOR_KEY"])
    check("Signed in with the auditor key" in browser.run("return document.body.textContent"), "a key signs in")
    browser.close()
    doctor = [os.environ["PUSHREG_PROGRAM"], "doctor", "--json", "--embedded", str(directory / "database")]
    outcome = subprocess.run(doctor, capture_output=True, text=True)
    check('"code":"console-sign-in"' in outcome.stdout, "doctor finds that the provider is down")

    provider = start_provider()
    try:
        outcome = subprocess.run(doctor, capture_output=True, text=True)
        check("console-sign-in" not in outcome.stdout, "doctor finds nothing about the provider that runs")
        # The service retries an unavailable provider after a minute.
        time.sleep(60)
        browser = Browser(driver)
        sign_in(browser, "jane")
        where = f"{console}/console/com.example.food/sandbox/keys"
        check(browser.address() == where, "jane is back at the page that she opened")
        text = browser.run("return document.body.textContent")
        check("Signed in as admin console:jane" in text, "jane has the role of her group")
        key = os.environ["ADMIN_KEY"][:16]
        browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
        form = f"document.querySelector('form[action$=\"{key}/revoke\"]')"
        browser.run(f"{form}.querySelector('[name=confirmation]').value = '{key}'")
        browser.press(f"({form}.querySelector('button').disabled = false, {form}.querySelector('button'))")
        browser.open(f"{console}/console/com.example.food/sandbox/search?q=event:key-revoked")
        check("console:jane" in browser.text(), "the audit trail names jane")
        browser.press("document.querySelector('form[action$=sign-out] button')")
        check(browser.address() == f"{console}/console/sign-in", "jane is signed out")
        browser.close()
        browser = Browser(driver)
        sign_in(browser, "bob")
        check("has no claim groups" in browser.text() or "You have no role here" in browser.text(), "bob has no role")
        browser.open(f"{console}/console/com.example.food/sandbox")
        check("/sign-in" in browser.address(), "bob sees no page")
        browser.close()
    finally:
        provider.kill()
        provider.wait()


main()
sys.exit(failures > 0)
