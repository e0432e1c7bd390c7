"""Runs the attacks of Tests/Laboratory/attack/run and prints one table; see its --help."""

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import resource
import signal
import subprocess
import sys
import time

import fuzzers
import service as services
import table
from attack import Load
from attacks import ALL
from attacks.secure import certificate, trusting
from callers import HOT, NEW_KEYS, CallersRun, sign_in
from client import APP, ask
from row import Row


def main():
    options = arguments()
    if options.network:
        lay_out_network()
    limits = services.memory_limits()
    note(f"limits of memory: {', '.join(f'{name} {limit} MiB' for name, limit in limits.items())}")
    note(f"seed {options.seed}")
    run = Run(options, min(limits.values()))
    try:
        run.all()
    finally:
        run.discard()
    print(f"\n{machine()}; calm: {run.calm_text()}; limit of memory {run.limit} MiB; {time.monotonic() - run.begin:.0f} s in total")
    print(table.text(run.rows))
    broken = [row for row in run.rows if row["faults"]]
    for row in broken:
        print(f"\n{row['attack']}: {row['does']}\n  must hold: {row['must']}")
        print("\n".join(f"  - {fault}" for fault in row["faults"][:12]))
    print(f"\nfigure: attacks, seed {options.seed}: {len(run.rows)} run, {len(broken)} failed"
          + (f": {', '.join(row['attack'] for row in broken)}" if broken else ""))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"machine": machine(), "seed": options.seed, "limits": limits, "calm": run.calm and run.calm.figures(),
                       "rows": run.rows}, file, indent=1, default=str)
    sys.exit(1 if broken else 0)


class Arguments(argparse.ArgumentParser):
    def error(self, message):
        print(f"Tests/Laboratory/attack/run: {message}", file=sys.stderr)
        sys.exit(64)


def arguments():
    parser = Arguments(add_help=False)
    parser.add_argument("--program", required=True)
    parser.add_argument("--network", action="store_true")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--only", default="")
    parser.add_argument("--all-at-once", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--json", default="")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    options = parser.parse_args()
    known = [attack.name for attack in ALL] + list(fuzzers.ALL)
    options.only = [name.strip() for name in options.only.split(",") if name.strip()]
    if unknown := set(options.only) - set(known):
        parser.error(f"unknown attacks: {', '.join(sorted(unknown))}; known attacks: {', '.join(known)}")
    if not os.access(options.program, os.X_OK):
        parser.error(f"{options.program} is not a program")
    options.program = os.path.abspath(options.program)
    return options


def lay_out_network():
    """Adds many addresses to the loopback interface of this network. They are not loopback addresses."""
    for command in ("link set lo up", "addr add 10.9.0.1/16 dev lo", "-6 addr add fd00:9::1/128 dev lo nodad",
                    "-6 route add local fd00:9::/48 dev lo"):
        subprocess.run(["ip", *command.split()], check=True)


def note(text):
    print(text, file=sys.stderr, flush=True)


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown CPU")
    return f"{os.cpu_count()} cores of {model}, attackers, callers, service and Postgres together"


class Run:
    def __init__(self, options, limit):
        self.options, self.limit = options, limit
        self.begin, self.rows = time.monotonic(), []
        self.common, self.cookie, self.calm = None, None, None
        self.scale = min(1, (options.seconds or 10) / 10)

    def chosen(self):
        return [attack for attack in ALL if not self.options.only or attack.name in self.options.only]

    def all(self):
        if not self.options.all_at_once:
            for attack in self.chosen():
                if attack.needs_network and not self.options.network:
                    note(f"left out {attack.name}: it needs several addresses")
                else:
                    self.one(attack)
            for name, fuzzer in fuzzers.ALL.items():
                if not self.options.only or name in self.options.only:
                    self.fuzz(name, fuzzer)
        if self.options.all_at_once or self.options.long:
            self.at_once()

    # Services

    def service(self, flags=(), files=None):
        """Starts a service with its own database, and creates the keys of its callers."""
        directory, context = services.database_directory(), None
        if "--tls" in flags:
            place = certificate(directory)
            flags, context = ("--tls-cert", place[0], "--tls-key", place[1]), trusting()
        host = "127.0.0.1" if "--insecure-no-auth" in flags else None
        made = services.Service(self.options.program, directory, self.options.network, flags, files or 16384, host)
        if host:
            made.target = made.target._replace(has_network=False)
        try:
            made.prepare(context)
        except BaseException:
            made.discard()
            raise
        return made

    def shared(self):
        if self.common is None:
            self.common = self.service()
            self.cookie = asyncio.run(sign_in(self.common.target, self.common.target.keys["auditor"], self.common.target.address(49_999)))
        return self.common

    def discard(self):
        if self.common is not None:
            self.common.discard()
        self.common = None

    # Callers

    def callers(self, service, seconds, cookie):
        keys = asyncio.run(self.fresh_keys(service, int(seconds * NEW_KEYS) + 3))
        return CallersRun(service.target, cookie, keys, seconds)

    async def fresh_keys(self, service, count):
        """Keys that the service created and has not seen in a request."""
        keys = []
        for _ in range(count):
            made = await ask(service.target, "POST", f"/v1/apps/{APP}/keys", service.target.keys["root"], {"role": "sender"})
            keys.append(made.json()["key"])
        return keys

    def measure_calm(self, seconds):
        service = self.shared()
        # The first calls of a service are slow.
        self.callers(service, min(2, seconds), self.cookie).report()
        self.calm = self.callers(service, seconds, self.cookie).report()
        note(f"calm: {self.calm_text()}")
        if faults := self.calm.faults():
            raise SystemExit(f"callers are not served, even without an attack: {'; '.join(faults)}\n"
                             + "\n".join(service.error_lines()[-5:]))

    def calm_text(self):
        return text_of(self.calm) if self.calm else "not measured"

    # Attacks

    def one(self, kind):
        seconds = self.options.seconds or 10
        note(f"== {kind.name}")
        if kind.has_load and self.calm is None:
            self.measure_calm(max(3, seconds))
        service = self.shared() if kind.flags is None and kind.files is None else None
        owned = service is None
        if owned:
            files = kind.files
            if isinstance(files, property):
                files = kind(None, self.scale).files
            service = self.service(kind.flags or (), files)
        row = Row(kind, service)
        try:
            attack = kind(service.target, self.scale)
            seen = self.beside(attack, service, row, seconds, owned) if kind.has_load else {}
            row.faults += self.checked(attack, seen, service)
            row.after(self.limit)
        finally:
            self.rows.append(row.figures())
            if owned:
                service.discard()
            elif row.faults:
                # Prevents that a fault of this attack counts for the next attack.
                self.discard()
        note("   holds" if not row.faults else "   BROKEN: " + "; ".join(row.faults)[:600])

    def beside(self, attack, service, row, seconds, owned):
        cookie = self.cookie
        if owned:
            cookie = asyncio.run(sign_in(service.target, service.target.keys["auditor"], service.target.address(49_999)))
        # Created before the attack, so that the checks do not wait during the attack.
        keys = asyncio.run(self.fresh_keys(service, int(seconds * NEW_KEYS) + 3))
        row.start()
        load = Load(attack)
        end = time.monotonic() + 120
        while not load.signals.is_ready() and time.monotonic() < end:
            row.sample()
            time.sleep(0.1)
        callers = CallersRun(service.target, cookie, keys, seconds)
        while callers.process.is_alive() and not callers.pipe.poll(0.1):
            row.sample()
        report = callers.report()
        seen = load.stop()
        row.sample()
        row.met(report, self.calm)
        row.values["seen"] = seen
        if "broken" not in seen and not attack.came_about(seen):
            row.faults.append(f"the attack did not start: {seen}")
        if "broken" in seen:
            row.faults.append(f"the attack itself failed: {seen['broken']}")
        return seen

    def checked(self, attack, seen, service):
        if not service.is_alive():
            return ["the service ended"]
        try:
            return asyncio.run(asyncio.wait_for(attack.check(seen, service), 120))
        except Exception as error:
            return [f"the check afterwards failed: {type(error).__name__} {error}"]

    def fuzz(self, name, fuzzer):
        note(f"== {name}")
        count = fuzzer.long if self.options.long else round(fuzzer.usual * max(self.scale, 0.25))
        # A busy machine is not a fault of the service.
        service = self.service(("--key-rate", "0", "--address-rate", "0", "--request-timeout", "PT30S"))
        row = Row(fuzzer, service)
        row.start()
        try:
            row.faults += fuzzer.run(service, self.options.seed, count, row)
            row.after(self.limit)
        finally:
            self.rows.append(row.figures())
            service.discard()
        note("   holds" if not row.faults else "   BROKEN: " + "; ".join(row.faults)[:600])

    # All at once

    def at_once(self):
        seconds = (self.options.seconds if self.options.all_at_once else 600) or 60
        kinds = [kind for kind in self.chosen() if kind.has_load and kind.joins and (self.options.network or not kind.needs_network)]
        note(f"== all at once: {', '.join(kind.name for kind in kinds)}")
        self.discard()
        self.measure_calm(min(seconds, 60))
        service = self.common
        row = Row(AtOnce, service)
        keys = asyncio.run(self.fresh_keys(service, int(seconds * NEW_KEYS) + 3))
        row.start()
        loads = [Load(kind(service.target, 1, 1 / 4)) for kind in kinds]
        callers = CallersRun(service.target, self.cookie, keys, seconds)
        while callers.process.is_alive() and not callers.pipe.poll(0.2):
            row.sample()
        report = callers.report()
        for load in loads:
            load.signals.stop()
        for load in loads:
            seen = load.stop()
            note(f"   {load.attack.name}: {seen}")
            if "broken" not in seen and not load.attack.came_about(seen):
                row.faults.append(f"{load.attack.name} did not start: {seen}")
            if "broken" in seen:
                row.faults.append(f"{load.attack.name} itself failed: {seen['broken']}")
        row.after(self.limit, patience=60)
        # Audits and pages read the rows of attackers and callers, so they cost more than before.
        afterwards = self.callers(service, min(seconds, 60), self.cookie).report()
        note(f"during the attacks: {text_of(report)}\ncalm afterwards: {text_of(afterwards)}")
        row.met(report, max(self.calm, afterwards, key=lambda calm: calm.percentile(0.99)), at_once=True)
        self.rows.append(row.figures())


def text_of(report):
    p50, p99, hot = (report.percentile(share, *kinds) * 1000 for share, *kinds in ((0.5,), (0.99,), (0.99, HOT)))
    return f"{len(report.outcomes)} calls, p50 {p50:.1f} ms, p99 {p99:.1f} ms (hot calls {hot:.1f} ms)"


class AtOnce:
    name = "all at once"
    offered = "each at a quarter of its rate"
    must = "other callers are served, p99 at most twice the calm p99 before or afterwards, memory under the limit, and no remains after a minute"
    does = "All loads at the same time"
    has_load = True


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    # An interrupted run also stops its services.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    main()
