"""Runs the faults of Tests/Laboratory/failover/run and prints one table; see its --help."""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import psycopg

import faults
import instances
import processes
from callers import Crowd
from cluster import Cluster, Unhealed
from ledger import Ledger
from measures import Round, clock
from member import PROGRAMS
from probes import Probes
from verdict import Verdict

DIRECTORY = os.environ.get("FAILOVER_DIR", "/var/tmp/pushreg-failover")
CALM = 3


def note(text):
    print(text, file=sys.stderr, flush=True)


class Arguments(argparse.ArgumentParser):
    def error(self, message):
        print(f"Tests/Laboratory/failover/run: {message}", file=sys.stderr)
        sys.exit(64)


def arguments():
    parser = Arguments(add_help=False)
    parser.add_argument("--program", required=True)
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--faults", default="")
    parser.add_argument("--patroni", choices=["pypi", "debian"], default="pypi")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--port", type=int)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--json", default="")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    known = {fault.name: fault for fault in faults.ALL}
    names = [name.strip() for name in options.faults.split(",") if name.strip()] or list(known)
    if unknown := [name for name in names if name not in known]:
        parser.error(f"unknown faults: {', '.join(unknown)}; known faults: {', '.join(known)}")
    if options.rounds < 0:
        parser.error("--rounds must be a number of rounds")
    if not os.access(options.program, os.X_OK):
        parser.error(f"{options.program} is not a program")
    try:
        options.settings = {name: json.loads(value) for name, value in (text.split("=", 1) for text in options.set)}
    except ValueError:
        parser.error("--set must be a setting of Patroni and its value in JSON, such as synchronous_mode_strict=true")
    options.program = os.path.abspath(options.program)
    options.faults = [known[name] for name in names]
    options.rounds = options.rounds or len(names)
    return options


class Run:
    def __init__(self, options, work):
        self.options, self.work, self.random = options, work, random.Random(options.seed)
        self.rounds, self.unhealed = [], []
        self.ledger, self.crowd, self.begin = Ledger(), None, time.monotonic()

    def all(self):
        """Returns the broken rules."""
        self.cluster = Cluster(self.work, self.options)
        note("== a cluster of three, etcd, HAProxy and two instances")
        self.cluster.start()
        keys = instances.prepare(self.options.program, self.cluster.url_of_all())
        urls = {"multihost": self.cluster.url_of_all(), "haproxy": self.cluster.url_of_haproxy()}
        self.instances = {name: instances.Instance(self.options.program, self.work, name, url, next(self.cluster.ports))
                          for name, url in urls.items()}
        self.probes = Probes(self.cluster)
        ports = {name: instance.port for name, instance in self.instances.items()}
        self.crowd = Crowd(ports, keys, self.ledger, self.options.seed)
        self.crowd.start()
        try:
            for number, kind in enumerate(self.order(), 1):
                note(f"== {number} of {self.options.rounds}: {kind.name}")
                self.round(kind)
            time.sleep(CALM)
        except Unhealed as error:
            self.tell_unhealed(f"{error}; later rounds were left out")
        self.crowd.stop()
        return self.judge()

    def order(self):
        """Each kind equally often, in an order by the seed."""
        order = []
        while len(order) < self.options.rounds:
            order += self.random.sample(self.options.faults, len(self.options.faults))
        return order[:self.options.rounds]

    def round(self, kind):
        self.cluster.wait_until_whole(180)
        time.sleep(CALM)
        begin = time.monotonic()
        fault = kind(self.cluster, self.probes, self.random)
        try:
            fault.run()
        except Unhealed as error:
            self.tell_unhealed(f"{kind.name} at {clock(begin)} was not measured: {error}")
            return
        try:
            self.cluster.wait_until_whole(180)
        finally:
            self.note_round(Round(fault, begin, time.monotonic(), self.probes, self.ledger, self.instances))

    def tell_unhealed(self, words):
        note(f"   {words}")
        self.unhealed.append(words)

    def note_round(self, seen):
        self.rounds.append(seen)
        ours = ", ".join(f"{name} {one['ours']:.2f} s, slowest response {one['slowest']:.1f} s"
                         for name, one in seen.instances.items())
        note(f"   at {clock(seen.struck)}: Patroni's part {seen.cluster_pause:.1f} s; ours: {ours}; {seen.writes} acknowledged")
        for fault in [*seen.faults(), *self.losses(seen)]:
            note(f"   BROKEN: {fault}")

    def losses(self, seen):
        """Reports losses immediately. The end of the run checks all tokens again."""
        try:
            self.cluster.wait_for(self.cluster.primary, 60, "no primary")
            with self.cluster.session(self.cluster.primary(), "pushreg") as session:
                lost = self.ledger.lost_tokens(session, seen.begin)
        except (Unhealed, psycopg.Error) as error:
            return [f"acknowledged tokens could not be checked yet: {error}"]
        return [f"{len(lost)} acknowledged tokens are lost, from {clock(min(lost))} to {clock(max(lost))}"] if lost else []

    def judge(self):
        """Prints the report and returns the broken rules."""
        self.probes.stop()
        verdict = Verdict(self.ledger, self.rounds, self.instances)
        verdict.faults += self.unhealed
        try:
            self.cluster.wait_for(self.cluster.primary, 60, "no primary to check the tokens")
            with self.cluster.session(self.cluster.primary(), "pushreg") as session:
                verdict.look_up(session)
        except (Unhealed, psycopg.Error) as error:
            verdict.faults.append(f"the tokens could not be checked: {error}")
        heading = self.heading()
        print(f"\n{heading}\n{verdict.text()}")
        if self.options.json:
            with open(self.options.json, "w", encoding="utf-8") as file:
                rounds = [one.figures() for one in self.rounds]
                json.dump({"heading": heading, "rounds": rounds, "faults": verdict.faults}, file, indent=1)
        return verdict.faults

    def heading(self):
        version = subprocess.run([PROGRAMS[self.options.patroni], "--version"], capture_output=True, text=True, check=False).stdout
        settings = ", ".join([version.strip().title(), *self.options.set])
        return (f"{settings}, seed {self.options.seed}, {len(self.rounds)} rounds, "
                f"{time.monotonic() - self.begin:.0f} s; seconds")


def main():
    options = arguments()
    os.makedirs(DIRECTORY, exist_ok=True)
    work = tempfile.mkdtemp(prefix="run-", dir=DIRECTORY)
    # As root, Postgres runs as another user, which needs access to the directory.
    os.chmod(work, 0o755)
    note(f"seed {options.seed}; logs in {work}")
    run, holds = Run(options, work), False
    try:
        holds = not run.all()
    finally:
        processes.kill_all(work)
        discard(work, options.keep or not holds)
    sys.exit(0 if holds else 1)


def discard(work, keeps_logs):
    """Deletes the databases, and the logs unless they are to be kept."""
    if not keeps_logs:
        shutil.rmtree(work, ignore_errors=True)
        return
    for name in os.listdir(work):
        shutil.rmtree(os.path.join(work, name, "data"), ignore_errors=True)
    note(f"logs are kept in {work}")


if __name__ == "__main__":
    # An interrupted run also removes its files and processes.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # nohup ignores this signal.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    main()
