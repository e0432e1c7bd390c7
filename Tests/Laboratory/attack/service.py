"""A service with its own temporary Postgres, and the system's figures of both."""

import asyncio
import glob
import os
import re
import resource
import shutil
import subprocess
import tempfile
import time

from client import APP, Target, ask

DEPLOY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "deploy")
TICKS = os.sysconf("SC_CLK_TCK")


def memory_limits():
    """The memory limits of the service in the files of deploy/, in MiB, by file."""
    wanted = {
        "compose.yaml": r"^\s*mem_limit:\s*(\d+)([mgMG])",
        "kubernetes/deployment.yaml": r"^\s*limits:\s*\n\s*memory:\s*(\d+)([MG])i",
        "systemd/pushreg.service": r"^MemoryMax=(\d+)([MG])",
    }
    limits = {}
    for name, pattern in wanted.items():
        with open(os.path.join(DEPLOY, name), encoding="utf-8") as file:
            found = re.search(pattern, file.read(), re.MULTILINE)
        if not found:
            raise SystemExit(f"deploy/{name} has no memory limit")
        limits[name] = int(found[1]) * (1024 if found[2].lower() == "g" else 1)
    return limits


def stat_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rsplit(") ", 1)[1].split()


def database_directory():
    # As root, Postgres runs as another user, which needs access to the directory.
    made = tempfile.mkdtemp(prefix="pushreg-attack-")
    os.chmod(made, 0o755)
    return made


class Service:
    """A running service process."""

    def __init__(self, program, directory, has_network, flags=(), files=16384, host=None, environment=None):
        self.program, self.directory = program, directory
        self.place = ["--embedded", os.path.join(directory, "database")]
        self.log = os.path.join(directory, f"log-{time.monotonic_ns()}")
        host = host or ("::" if has_network else "127.0.0.1")
        # Without the settings of the caller.
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PUSHREG_", "PG", "DATABASE_URL"))}
        self.environment = {**kept, "SWIFT_BACKTRACE": "enable=no", **(environment or {})}
        files = min(files, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [program, "serve", *self.place, "--host", host, "--port", "0", *flags],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.environment,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)),
            )
        try:
            self.target = Target(self._wait(), has_network, {})
        except BaseException:
            self.discard()
            raise

    def _wait(self):
        for _ in range(600):
            text = self.text()
            if found := re.search(r"accepting requests.*?https?://[^\s\"/]*:(\d+)", text):
                return int(found[1])
            if self.process.poll() is not None:
                raise SystemExit(f"the service did not start:\n{text}")
            time.sleep(0.1)
        raise SystemExit(f"the service does not serve:\n{self.text()}")

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def error_lines(self):
        """Log lines with an error, and lines that are not JSON."""
        return [line for line in self.text().splitlines()
                if not line.startswith("{") or '"level":"error"' in line or '"level":"critical"' in line]

    def command(self, *arguments):
        """Runs a command of the program on the same database. Returns its output, exit code and errors."""
        return subprocess.run([self.program, *arguments, *self.place], capture_output=True, text=True, check=False,
                              env=self.environment, timeout=120)

    def prepare(self, tls=None):
        """Creates an app and its keys. Returns the service's target."""
        made = self.command("keys", "create", "--role", "root")
        if made.returncode != 0:
            raise SystemExit(f"no root key: {made.stderr}")
        root = made.stdout.strip()
        keys = asyncio.run(self._keys(root, tls))
        self.target = self.target._replace(keys={"root": root, **keys})
        return self.target

    async def _keys(self, root, tls):
        await ask(self.target, "PUT", f"/v1/apps/{APP}", root, {}, tls=tls)
        keys = {}
        for role in ("client", "sender", "auditor", "admin"):
            made = await ask(self.target, "POST", f"/v1/apps/{APP}/keys", root, {"role": role}, tls=tls)
            keys[role] = made.json()["key"]
        return keys

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self.process.returncode

    def discard(self):
        """Stops the service, and deletes its database."""
        postmaster = self._postmaster()
        self.stop()
        if postmaster and os.path.exists(f"/proc/{postmaster}"):
            # A killed service does not stop its Postgres.
            os.kill(postmaster, 2)
            for _ in range(100):
                if not os.path.exists(f"/proc/{postmaster}"):
                    break
                time.sleep(0.1)
        shutil.rmtree(self.directory, ignore_errors=True)

    def is_alive(self):
        return self.process.poll() is None

    def memory(self):
        """Resident memory in MiB: now, and the peak since the last reset."""
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as lines:
            sizes = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines if line.startswith(("VmRSS", "VmHWM"))}
        return sizes["VmRSS"], sizes["VmHWM"]

    def forget_peak(self):
        try:
            with open(f"/proc/{self.process.pid}/clear_refs", "w", encoding="utf-8") as file:
                file.write("5")
        except OSError:
            pass

    def descriptors(self):
        """The number of open descriptors of the service."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def cpu(self):
        """Processor time of the service, in seconds."""
        fields = stat_of(self.process.pid)
        return (int(fields[11]) + int(fields[12])) / TICKS

    def postgres_cpu(self):
        """Processor time of all processes of Postgres, including ended ones, in seconds."""
        postmaster = self._postmaster()
        if not postmaster:
            return 0.0
        ticks = sum(map(int, stat_of(postmaster)[11:15]))
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    fields = stat_of(name)
                except OSError:
                    continue
                if int(fields[1]) == postmaster:
                    ticks += int(fields[11]) + int(fields[12])
        return ticks / TICKS

    def _postmaster(self):
        for path in glob.glob(os.path.join(self.directory, "database", "**", "postmaster.pid"), recursive=True):
            with open(path, encoding="utf-8") as file:
                return int(file.readline())
        return None
