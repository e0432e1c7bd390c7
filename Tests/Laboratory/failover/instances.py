"""Two instances of the service, and the app that callers use."""

import datetime
import json
import os
import re
import subprocess
import time

import processes
from client import APP

# The limit for a call: the service's timeout, and half a second for the network and a busy machine.
REQUEST_TIMEOUT, GRACE = 5, 0.5


class Instance:
    def __init__(self, program, work, name, url, port):
        self.name, self.program, self.port = name, program, port
        self.directory = os.path.join(work, f"instance-{name}")
        os.makedirs(self.directory)
        self.environment = {"DATABASE_URL": url, "SWIFT_BACKTRACE": "enable=no"}
        command = [program, "serve", "--port", str(port), "--request-timeout", f"PT{REQUEST_TIMEOUT}S"]
        self.running = processes.start(command, self.directory, self.environment, as_postgres=False)
        end = time.monotonic() + 60
        while "accepting requests" not in self.text():
            if self.running.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"the service did not start:\n{self.text()}")
            time.sleep(0.1)

    def text(self):
        with open(os.path.join(self.directory, "log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def error_lines(self):
        """Log lines with an error, and lines that are not JSON."""
        return [line for line in self.text().splitlines()
                if not line.startswith("{") or re.search(r'"level":"(error|critical)"', line)]

    def said(self, begin, end):
        """The log lines between two times of the system clock, without repetitions."""
        span = [datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat()[:23] for at in (begin, end)]
        lines = [json.loads(line) for line in self.text().splitlines() if line.startswith("{")]
        words = (f"{line['message']} {line.get('error', '')}".strip() for line in lines if span[0] <= line["time"][:23] <= span[1])
        return list(dict.fromkeys(words))

    def is_alive(self):
        return self.running.poll() is None


def command(program, url, *arguments):
    """Runs a command of the program and returns its output."""
    made = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=120,
                          env={**os.environ, "DATABASE_URL": url})
    if made.returncode != 0:
        raise SystemExit(f"pushreg {arguments[0]} failed: {made.stderr}")
    return made.stdout.strip()


def prepare(program, url):
    """Creates the schema, an app, and its keys."""
    command(program, url, "migrate")
    command(program, url, "apps", "create", APP)
    return {role: command(program, url, "keys", "create", "--app", APP, "--role", role) for role in ("client", "sender")}
