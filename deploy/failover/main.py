"""Runs the faults of deploy/failover/run and prints one table; see its --help."""

import argparse
import collections
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time

import faults
import instances
import processes
import table
from callers import Crowd
from cluster import Cluster, Unhealed
from ledger import Ledger
from measures import Round, clock
from probes import Probes

DIRECTORY = os.environ.get("FAILOVER_DIR", "/var/tmp/pushreg-failover")
CALM = 3


def note(text):
    print(text, file=sys.stderr, flush=True)


class Arguments(argparse.ArgumentParser):
    def error(self, message):
        print(f"deploy/failover/run: {message}", file=sys.stderr)
        sys.exit(64)


def arguments():
    parser = Arguments(add_help=False)
    parser.add_argument("--program", required=True)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--faults", default="")
    parser.add_argument("--patroni", choices=["pypi", "debian"], default="pypi")
    parser.add_argument("--asynchronous", action="store_true")
    parser.add_argument("--port", type=int)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--json", default="")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    known = {fault.name: fault for fault in faults.ALL}
    names = [name.strip() for name in options.faults.split(",") if name.strip()] or list(known)
    if unknown := [name for name in names if name not in known]:
        parser.error(f"there is no fault called {', '.join(unknown)}; there are: {', '.join(known)}")
    if not os.access(options.program, os.X_OK):
        parser.error(f"{options.program} is no program")
    options.program = os.path.abspath(options.program)
    options.faults = [known[name] for name in names]
    options.rounds = options.rounds or len(names)
    return options


class Run:
    def __init__(self, options, work):
        self.options, self.work, self.random = options, work, random.Random(options.seed)
        self.rounds, self.faults, self.left_out = [], [], []
        self.ledger, self.crowd, self.begin = Ledger(), None, time.monotonic()

    def all(self):
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
            self.crowd.stop()
            self.judge()
        except Unhealed as error:
            self.crowd.stop()
            self.faults.append(f"Patroni: {error}; the rounds after that were left out")
            self.judge()

    def order(self):
        """Each kind as often as the others, in an order that the seed decides."""
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
            self.cluster.wait_until_whole(180)
        finally:
            if hasattr(fault, "mended"):
                self.note_round(Round(fault, begin, time.monotonic(), self.probes, self.ledger, self.instances))

    def note_round(self, seen):
        self.rounds.append(seen)
        ours = ", ".join(f"{name} {one['ours']:.2f} s, slowest answer {one['slowest']:.1f} s" for name, one in seen.instances.items())
        note(f"   at {clock(seen.struck)}: Patroni's part {seen.cluster_pause:.1f} s; ours: {ours}; {seen.writes} acknowledged")
        try:
            with self.cluster.session(self.cluster.primary(), "pushreg") as session:
                if lost := self.ledger.lost_tokens(session, seen.begin):
                    note(f"   {len(lost)} acknowledged tokens are lost, from {clock(min(lost))} to {clock(max(lost))}")
        except (AttributeError, OSError):
            pass
        broken = [f"{seen.fault} at {clock(seen.struck)}: {fault}" for fault in seen.faults()]
        for fault in broken:
            note(f"   BROKEN: {fault}")
        self.faults += broken

    def judge(self):
        """Looks up everything that was ever acknowledged."""
        self.probes.stop()
        ledger = self.ledger
        with self.cluster.session(self.cluster.primary(), "pushreg") as session:
            self.lost = ledger.lost_tokens(session)
            self.wrong, self.revived = ledger.wrong_states(session)
        if self.lost:
            self.faults.append(f"{len(self.lost)} acknowledged tokens are lost, acknowledged from {clock(min(self.lost))} to {clock(max(self.lost))}")
        if self.wrong:
            self.faults.append(f"{len(self.wrong)} activities do not show their last acknowledged token")
        if self.revived or ledger.revived:
            self.faults.append(f"{len(self.revived)} ended activities run again, and {len(ledger.revived)} calls saw it: {ledger.revived[:3]}")
        if ledger.stale:
            first = ledger.stale[0]
            self.faults.append(f"{len(ledger.stale)} stale reads, such as one of {clock(first.begin)} to {clock(first.end)}: {first.words}")
        for instance in self.instances.values():
            if not instance.is_alive():
                self.faults.append(f"{instance.name}: the instance ended with {instance.running.returncode}")
            if lines := instance.error_lines():
                self.faults.append(f"{instance.name}: {len(lines)} errors in its log, such as {lines[0][:300]}")

    def report(self):
        ledger = self.ledger
        patroni = "Debian's Patroni" if self.options.patroni == "debian" else "PyPI's Patroni"
        mode = "synchronous_mode off" if self.options.asynchronous else "synchronous_mode"
        print(f"\n{patroni}, {mode}, seed {self.options.seed}, {len(self.rounds)} rounds, {time.monotonic() - self.begin:.0f} s; seconds")
        if self.rounds:
            print(table.text(self.rounds, (self.lost + self.wrong + self.revived, [read.begin for read in ledger.stale])))
        statuses = collections.Counter(str(answer.status) for answer in ledger.answers)
        ended = sum(1 for token, _ in ledger.last.values() if token is None)
        print(f"\nanswers: {', '.join(f'{count} × {status}' for status, count in sorted(statuses.items()))}"
              f"\nthe callers' own clock was late by {max((late for _, late in ledger.lag), default=0):.2f} s at most")
        for fault in self.faults:
            print(f"  - {fault}")
        print(f"figure: failover: {len(self.rounds)} rounds, {len(ledger.acknowledged)} acknowledged tokens, {len(self.lost)} lost; "
              f"{len(ledger.last)} activities, {len(self.wrong)} wrong; {ended} ended, {len(self.revived) + len(ledger.revived)} revived; "
              f"{ledger.reads} reads, {len(ledger.stale)} stale; {statuses['503']} answers 503; {len(self.faults)} bounds broken")

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"seed": self.options.seed, "rounds": [one.figures() for one in self.rounds], "faults": self.faults}, file, indent=1)


def main():
    options = arguments()
    os.makedirs(DIRECTORY, exist_ok=True)
    work = tempfile.mkdtemp(prefix="run-", dir=DIRECTORY)
    # As root, Postgres runs as somebody else, who must get there.
    os.chmod(work, 0o755)
    note(f"seed {options.seed}; logs in {work}")
    run, holds = Run(options, work), False
    try:
        run.all()
        run.report()
        if options.json:
            run.write(options.json)
        holds = not run.faults
    finally:
        processes.kill_all(work)
        discard(work, options.keep or not holds)
    sys.exit(0 if holds else 1)


def discard(work, keeps_logs):
    """Throws the databases away, and the logs if nobody wants to read them."""
    if not keeps_logs:
        shutil.rmtree(work, ignore_errors=True)
        return
    for name in os.listdir(work):
        shutil.rmtree(os.path.join(work, name, "data"), ignore_errors=True)
    note(f"logs are kept in {work}")


if __name__ == "__main__":
    # A run that is ended early leaves nothing behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    main()
