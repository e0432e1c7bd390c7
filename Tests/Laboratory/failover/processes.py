"""Finds processes by their working directory: a directory or one below it.

This also finds a Postgres that Patroni started, and the backends of a dead postmaster."""

import os
import pwd
import signal
import subprocess
import time

# Postgres refuses root.
USER = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name


def give(path):
    """Lets Postgres's user write to the directory."""
    if os.geteuid() == 0:
        entry = pwd.getpwnam(USER)
        os.chown(path, entry.pw_uid, entry.pw_gid)


def start(command, directory, environment=None, as_postgres=True):
    """Starts a process with a log in a new session, so Ctrl-C does not reach it."""
    entry = pwd.getpwnam(USER)
    demoted = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []} if as_postgres and os.geteuid() == 0 else {}
    # Without the settings of the caller.
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("PUSHREG_", "PATRONI_", "PG", "DATABASE_URL", "PYTHONPATH"))}
    with open(os.path.join(directory, "log"), "ab") as log:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=directory, start_new_session=True,
                                env={**kept, "HOME": directory, "LC_ALL": "C.UTF-8", **(environment or {})}, **demoted)


def below(directory, name=""):
    """The processes in the directory with the name in their command line."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            place = os.readlink(f"/proc/{entry}/cwd").removesuffix(" (deleted)")
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                command = file.read().replace(b"\0", b" ").decode(errors="replace")
            with open(f"/proc/{entry}/stat", encoding="utf-8") as file:
                is_over = file.read().rsplit(") ", 1)[1][0] in "ZX"
        except OSError:
            continue
        if not is_over and name in command and os.path.commonpath([place, directory]) == directory:
            found.append(int(entry))
    return found


def send(number, pids):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def stop_all(directory):
    """Stops all processes with SIGSTOP, and repeats until no new process appears."""
    stopped = set()
    while new := set(below(directory)) - stopped:
        send(signal.SIGSTOP, new)
        stopped |= new
    return stopped


def kill_all(directory):
    """Kills all processes, including frozen ones, and waits for their end."""
    end = time.monotonic() + 30
    while time.monotonic() < end and (found := below(directory)):
        send(signal.SIGKILL, found)
        time.sleep(0.05)
