"""An attack: a load, in a process of its own, and what must hold beside it and after it."""

import asyncio
import collections
import multiprocessing
import os
import resource
import time
import traceback


class Attack:
    """One way to do harm. The class's first line of documentation says what it does."""

    name = ""
    # The rules that must hold, beside those that always must: memory under the limit, callers served, connections given back.
    must = ""
    # The load that is sent, and how fast, for the table.
    offered = ""
    # Flags of a service of its own, and how many files that may have open.
    flags = None
    files = None
    # It turns on addresses that are not loopback.
    needs_network = False
    # It has a load, beside which callers are measured; else it only asks and looks.
    has_load = True
    # How much memory it may cost, in MiB, where that is less than the limit leaves.
    most_memory = None
    # It takes part when all come at once.
    joins = True

    def __init__(self, target, scale=1.0, share=1.0):
        """`scale` makes what is sent smaller for short runs; `share` slows it down beside other attacks."""
        self.target, self.scale, self.share = target, scale, share

    def some(self, count, least=1):
        """A number that shrinks with the run."""
        return max(least, round(count * self.scale))

    def rate(self, count):
        """How many a second: less beside other attacks."""
        return count * self.share

    async def load(self, signals):
        """Puts its load on the service until it is told to stop; gives counts of what it saw."""
        return {}

    async def check(self, seen, service):
        """The rules that did not hold, in sentences."""
        return []

    def came_about(self, seen):
        """Whether the load was one: what was never sent breaks nothing, and proves nothing."""
        return any(name.isdigit() or name in ("opened", "sent") for name, count in seen.items() if count)

    @property
    def does(self):
        return (type(self).__doc__ or "").split("\n")[0]


class Signals:
    """Between an attack's process and the driver."""

    def __init__(self):
        self._ready, self._stop = multiprocessing.Event(), multiprocessing.Event()

    def ready(self):
        """The load is on: callers may be measured."""
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
        """So many turns a second, until told to stop; what was missed is not made up for."""
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
        # Not even a little: many of them would take as much as the service together.
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
        """Ends it; gives what it saw."""
        self.signals.stop()
        seen = self.pipe.recv() if self.pipe.poll(patience) else {"broken": "the load did not end"}
        self.process.join(5)
        if self.process.is_alive():
            self.process.kill()
        return seen


async def gather(signals, count, work):
    """Runs `work(number)` so many times at once; gives their counts together. A task that fails is counted."""
    total = collections.Counter()

    async def one(number):
        try:
            total.update(await work(number) or {})
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            total[type(error).__name__] += 1

    await asyncio.gather(*(one(number) for number in range(count)))
    return total
