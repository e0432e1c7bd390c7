"""The service and its peers as processes."""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request

from cluster import DIRECTORY, HERE, PUSHREG, cpu_of
from statements import statements

BINARIES = os.path.join(DIRECTORY, "bin")
UNPACKED = os.path.join(HERE, "..", "..", "..", "deploy", "unpacked")


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Service:
    """A process that listens on its own port or on a socket."""

    def __init__(self, name, command, path=None):
        self.name = name
        self.path = path
        # The kinds of calls that were already made to it.
        self.warmed = set()
        self.address = f"127.0.0.1:{free_port()}"
        self.log = open(os.path.join(DIRECTORY, f"{name}.log"), "w", encoding="utf-8")
        command = [word.replace("{address}", self.address).replace("{port}", self.address.split(":")[1]) for word in command]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        try:
            self.wait()
        except BaseException:
            self.process.kill()
            raise

    def wait(self):
        """Waits for minutes, because some services fill their tables first."""
        for _ in range(3000):
            if self.process.poll() is not None:
                raise SystemExit(f"{self.name} ended; see {self.log.name}")
            if self.listens():
                return
            time.sleep(0.1)
        raise SystemExit(f"{self.name} does not listen; see {self.log.name}")

    def listens(self):
        host, port = self.address.split(":")
        family, address = (socket.AF_UNIX, self.path) if self.path else (socket.AF_INET, (host, int(port)))
        with socket.socket(family) as found:
            return found.connect_ex(address) == 0

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def memory(self):
        """Resident memory of the process in MiB: now, and its peak."""
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as lines:
            sizes = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines if line.startswith("Vm")}
        return sizes["VmRSS"], sizes["VmHWM"]

    def cpu(self):
        return cpu_of(self.process.pid)


def registry(database, name="pushreg", *arguments, url=None):
    command = [
        PUSHREG, "serve", "--database-url", url or database.url_of("bench"), "--port", "{port}", "--key-rate", "0",
        "--address-rate", "0", "--sweep-interval", "PT1H", "--log-level", "warning", *arguments,
    ]
    return Service(name, command)


def pgx(database, name="pgx", *arguments, url=None):
    command = [
        os.path.join(BINARIES, "pgx"), "-database", url or database.url_of("bench"), "-statements", statements(),
        "-address", "{address}", *arguments,
    ]
    return Service(name, command)


def onetable(database, count, name="onetable"):
    """Go with one table, in a separate database that it fills."""
    if not database.psql("-Atc", f"SELECT 1 FROM pg_database WHERE datname = 'bench_{name}'", database="postgres"):
        database.psql("-c", f"CREATE DATABASE bench_{name}", database="postgres")
    command = [
        os.path.join(BINARIES, "onetable"), "-database", database.url_of(f"bench_{name}"), "-registry", database.url_of("bench"),
        "-count", str(count), "-address", "{address}",
    ]
    service = Service(name, command)
    database.psql("-c", "CHECKPOINT", database="postgres")
    return service


def nginx():
    """nginx with one response for all requests, as long as a resolve of one token."""
    directory = os.path.join(DIRECTORY, "nginx")
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, "nginx.conf")
    body = json.dumps({"activities": [{"activityId": "a-1234567", "token": "ab" * 80, "attributesType": "Ride"}]})
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"""
            daemon off; master_process off; pid {directory}/pid; error_log stderr;
            events {{ worker_connections 1024; }}
            http {{
                access_log off; keepalive_requests 1000000000; client_body_temp_path {directory};
                proxy_temp_path {directory}; fastcgi_temp_path {directory}; uwsgi_temp_path {directory};
                scgi_temp_path {directory};
                server {{
                    listen 127.0.0.1:PORT reuseport;
                    location / {{ default_type application/json; return 200 '{body}'; }}
                }}
            }}
        """)
    command = ["bash", "-c", f"sed -i s/PORT/{{port}}/ {path} && exec {UNPACKED} nginx usr/sbin/nginx -c {path}"]
    return Service("nginx", command)


def redis_server():
    """A Redis that acknowledges a write after the disk has it. It never rewrites its file, which saves work."""
    directory = os.path.join(DIRECTORY, "redis")
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    path = os.path.join(directory, "socket")
    command = [
        "redis-server", "--port", "0", "--unixsocket", path, "--dir", directory, "--appendonly", "yes",
        "--appendfsync", "always", "--save", "", "--auto-aof-rewrite-percentage", "0",
    ]
    return Service("redis-server", command, path=path)


def redis(database, count, server):
    """Go with a Redis that it fills."""
    command = [
        os.path.join(BINARIES, "redis"), "-socket", server.path, "-registry", database.url_of("bench"), "-count", str(count),
        "-address", "{address}",
    ]
    return Service("redis", command)


def call(service, method, path, key, body=None):
    """Makes one request and returns the response."""
    request = urllib.request.Request(
        f"http://{service.address}/v1/apps/com.example.food{path}", method=method, data=body and json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)
