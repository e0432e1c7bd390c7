"""An attack: a load in a separate process, and the rules that must hold during and after it."""

import asyncio
import collections
import multiprocessing
import os
import resource
import time
import traceback


class Attack:
    """One way to do harm. The first line of the class's docstring describes it."""

    name = ""
    # The rules in addition to the general ones: memory under the limit, callers served, connections closed.
    must = ""
    # The load and its rate in the table.
    offered = ""
    # The flags and the limit of open files of a separate service.
    flags = None
    files = None
    # Whether it needs addresses other than loopback.
    needs_network = False
    # Whether it has a load, during which callers are measured. Otherwise it only makes calls and checks them.
    has_load = True
    # The memory that it may cost, in MiB, if this is less than the limit permits.
    most_memory = None
    # Whether it takes part when all attacks run together.
    joins = True

    def __init__(self, target, scale=1.0, share=1.0):
        """`scale` reduces the load for short runs. `share` reduces the rate when other attacks run."""
        self.target, self.scale, self.share = target, scale, share

    def some(self, count, least=1):
        """A number in proportion to the length of the run."""
        return max(least, round(count * self.scale))

    def rate(self, count):
        """The rate per second: lower when other attacks run."""
        return count * self.share

    async def load(self, signals):
        """Sends the load until it is stopped. Returns counts of the results."""
        return {}

    async def check(self, seen, service):
        """The broken rules, in sentences."""
        return []

    def came_about(self, seen):
        """Whether the load was sent. Without a load, the attack proves nothing."""
        return any(name.isdigit() or name in ("opened", "sent") for name, count in seen.items() if count)

    @property
    def does(self):
        return (type(self).__doc__ or "").split("\n")[0]


class Signals:
    """The connection between an attack's process and the driver."""

    def __init__(self):
        self._ready, self._stop = multiprocessing.Event(), multiprocessing.Event()

    def ready(self):
        """Reports that the load runs, so callers can be measured."""
        self._ready.set()

    def is_ready(self):
        return self._ready.is_set()

    def stop(self):
        self._stop.set()

    @property
    def is_stopped(self):
        return self._stop.is_set()

    async def until_stopped(self):
        while not self.is_stopped:
            await asyncio.sleep(0.05)

    async def turns(self, rate):
        """Turns at a rate per second, until stopped. Missed turns are not made up for."""
        due = time.monotonic()
        while not self.is_stopped:
            yield
            due = max(due + 1 / rate, time.monotonic() - 0.05)
            await asyncio.sleep(max(0, due - time.monotonic()))


class Load:
    """The process of an attack's load."""

    def __init__(self, attack):
        self.attack, self.signals = attack, Signals()
        self.pipe, theirs = multiprocessing.Pipe(False)
        self.process = multiprocessing.Process(target=self._run, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def _run(self, pipe):
        # The lowest priority, because many attackers together could otherwise use as much as the service.
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        try:
            seen = asyncio.run(self.attack.load(self.signals))
        except BaseException:
            seen = {"broken": traceback.format_exc()}
        self.signals.ready()
        pipe.send(dict(seen))

    def stop(self, patience=90):
        """Ends the load and returns its counts."""
        self.signals.stop()
        seen = self.pipe.recv() if self.pipe.poll(patience) else {"broken": "the load did not end"}
        self.process.join(5)
        if self.process.is_alive():
            self.process.kill()
        return seen


async def gather(signals, count, work):
    """Runs `work(number)` in parallel tasks. Returns the sum of their counts, including the number of failed tasks."""
    total = collections.Counter()

    async def one(number):
        try:
            total.update(await work(number) or {})
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            total[type(error).__name__] += 1

    await asyncio.gather(*(one(number) for number in range(count)))
    return total
