"""Processes that are known by where they run: all that have a directory, or one below it, as their working directory.

So nothing has to be remembered of a Postgres that Patroni started, nor of the backends of a postmaster that is gone."""

import os
import pwd
import signal
import subprocess
import time

# Postgres refuses root.
USER = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name


def give(path):
    """Lets Postgres's user write there."""
    if os.geteuid() == 0:
        entry = pwd.getpwnam(USER)
        os.chown(path, entry.pw_uid, entry.pw_gid)


def start(command, directory, environment=None, as_postgres=True):
    """A process in a session of its own, which Ctrl-C does not reach, with a log beside it."""
    entry = pwd.getpwnam(USER)
    demoted = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []} if as_postgres and os.geteuid() == 0 else {}
    # Nothing of the caller's own settings.
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("PUSHREG_", "PATRONI_", "PG", "DATABASE_URL", "PYTHONPATH"))}
    with open(os.path.join(directory, "log"), "ab") as log:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=directory, start_new_session=True,
                                env={**kept, "HOME": directory, "LC_ALL": "C.UTF-8", **(environment or {})}, **demoted)


def below(directory, name=""):
    """The processes that run there and have the name in their command line."""
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
    """Stops all for a time; those that start others first have no time to."""
    stopped = set()
    while new := set(below(directory)) - stopped:
        send(signal.SIGSTOP, new)
        stopped |= new
    return stopped


def kill_all(directory):
    """Kills all, frozen ones too, and waits until they are gone."""
    end = time.monotonic() + 30
    while time.monotonic() < end and (found := below(directory)):
        send(signal.SIGKILL, found)
        time.sleep(0.05)
