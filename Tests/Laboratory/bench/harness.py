"""The parts that all measurements share: running services, fair turns, and the table of figures."""

import statistics
import sys
from typing import NamedTuple

import generators
import services
import statements
from table import Table

CLIENTS = [8, 16, 32, 64]


class Figure(NamedTuple):
    """A median, with the load generator's share of the machine's CPU."""

    value: float
    generator: float


class Bench:
    def __init__(self, database, options):
        self.database = database
        self.options = options
        self.table = Table()
        self.key = database.key()
        self.running = {}
        self.best_clients = {}
        # The rates of pushreg in this run, by kind of load.
        self.rates = {}

    def service(self, name):
        if name not in self.running:
            self.running[name] = getattr(services, "registry" if name == "pushreg" else name)(self.database)
        return self.running[name]

    def start(self, name, service):
        """Runs a separate service for a measurement, and always stops it."""
        self.running[name] = service
        return service

    def end(self, *names):
        for name in names:
            self.running.pop(name).stop()

    def stop(self):
        self.end(*reversed(self.running))

    def load(self, name, kind, seconds=None, key=None, **options):
        service, key = self.service(name), key or self.key
        options.setdefault("count", self.options.count)
        if kind not in service.warmed and kind in ("hello", "resolve", "register"):
            generators.load(service, kind, key, 1, **options)
        service.warmed.add(kind)
        return generators.load(service, kind, key, seconds or self.options.seconds, **options)

    def rounds(self, **runs):
        """Runs the functions in turns, and starts each round with another one. Returns a list of results for each."""
        names = list(runs)
        results = {name: [] for name in names}
        for name in names:
            if name in ("pushreg", "pgx"):
                self.service(name)
        for index in range(self.options.rounds):
            shift = index % len(names)
            for name in names[shift:] + names[:shift]:
                results[name].append(runs[name]())
        return results

    def turns(self, **runs):
        """The medians of runs that return numbers."""
        results = self.rounds(**runs)
        for name, values in results.items():
            note(f"   {name}: {' '.join(f'{value:.0f}' for value in values)}")
        return {name: statistics.median(values) for name, values in results.items()}

    def figures(self, what, **runs):
        """The medians of one value of the load generator, from runs that return all values."""
        figures = {}
        for name, results in self.rounds(**runs).items():
            note(f"   {name}: {' '.join(f'{result[what]:.0f}' for result in results)}")
            figures[name] = Figure(*(statistics.median(result[key] for result in results) for key in (what, "generator")))
        return figures

    def pgbench(self, path):
        """The result with the best number of clients."""
        if path not in self.best_clients:
            rates = {n: statements.pgbench(self.database, path, 2, n) for n in CLIENTS}
            self.best_clients[path] = max(rates, key=rates.get)
        return statements.pgbench(self.database, path, self.options.seconds, self.best_clients[path])


def note(text):
    print(text, file=sys.stderr, flush=True)
