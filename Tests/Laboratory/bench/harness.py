"""What all measurements share: services that run, turns that are fair, and the table that the figures go to."""

import statistics
import sys
from typing import NamedTuple

import generators
import services
import statements
from table import Table

CLIENTS = [8, 16, 32, 64]


class Figure(NamedTuple):
    """A median, with the share of the machine's CPU that the load generator used."""

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
        """Keeps a service of a measurement's own, which is stopped whatever comes between."""
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
        """Runs each in turns, beginning with another one in each round; gives what each gave, in a list."""
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
        """The medians of runs that give numbers."""
        results = self.rounds(**runs)
        for name, values in results.items():
            note(f"   {name}: {' '.join(f'{value:.0f}' for value in values)}")
        return {name: statistics.median(values) for name, values in results.items()}

    def figures(self, what, **runs):
        """The medians of one of the values that the load generator prints, of runs that give all of them."""
        figures = {}
        for name, results in self.rounds(**runs).items():
            note(f"   {name}: {' '.join(f'{result[what]:.0f}' for result in results)}")
            figures[name] = Figure(*(statistics.median(result[key] for result in results) for key in (what, "generator")))
        return figures

    def pgbench(self, path):
        """With the number of clients that is best at it."""
        if path not in self.best_clients:
            rates = {n: statements.pgbench(self.database, path, 2, n) for n in CLIENTS}
            self.best_clients[path] = max(rates, key=rates.get)
        return statements.pgbench(self.database, path, self.options.seconds, self.best_clients[path])


def note(text):
    print(text, file=sys.stderr, flush=True)
