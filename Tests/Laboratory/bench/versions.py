"""The versions of the measured programs and of the load generators."""

import functools
import platform
import re
import shutil
import subprocess

from cluster import PUSHREG, tool

# The version of a program is found in its output by a pattern. Missing programs are left out.
COMMANDS = {
    "pushreg": [PUSHREG, "--version"], "Postgres": [tool("postgres"), "--version"], "Go": ["go", "version"],
    "pgx": ["dpkg-query", "--show", "golang-github-jackc-pgx-v4-dev"], "redis-server": ["redis-server", "--version"],
    "redigo": ["dpkg-query", "--show", "golang-github-gomodule-redigo-dev"],
    "golang-jwt": ["dpkg-query", "--show", "golang-github-golang-jwt-jwt-dev"],
    "wrk": ["wrk", "-v"], "h2load": ["h2load", "--version"],
}


@functools.cache
def versions():
    found = {name: version(command) for name, command in COMMANDS.items() if shutil.which(command[0])}
    found["Python"] = platform.python_version()
    return {name: text for name, text in found.items() if text}


def version(command):
    # Package names can also contain versions, such as pgx-v4, so the pattern requires a dot.
    output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    match = re.search(r"\d+(\.\d+)+[^\s;,]*", output)
    return match and match[0]
