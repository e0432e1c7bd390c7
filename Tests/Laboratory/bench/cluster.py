"""A private Postgres with production durability, and with the registry's schema and seeds."""

import glob
import hashlib
import os
import pwd
import subprocess
import sys

DIRECTORY = os.environ.get("BENCH_DIR", "/var/tmp/pushreg-bench")
HERE = os.path.dirname(os.path.abspath(__file__))
PUSHREG = os.path.join(DIRECTORY, "bin", "pushreg")
# A quarter of the memory, as Postgres's manual advises for a dedicated server.
SHARED_MEBIBYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4 // 2**20
# Settings for such a machine. Durability is not reduced.
SETTINGS = {
    "shared_buffers": f"{SHARED_MEBIBYTES}MB", "max_wal_size": "16GB", "checkpoint_timeout": "30min", "max_connections": "200",
    "listen_addresses": "", "unix_socket_directories": DIRECTORY, "log_min_messages": "warning",
    "track_io_timing": "off",
}


# Pages of 2 MiB for shared_buffers and their overhead.
HUGE_PAGES = SHARED_MEBIBYTES * 107 // 200
HUGE_PAGES_FILE = "/proc/sys/vm/nr_hugepages"


def huge_pages():
    """The number of huge pages that the kernel reserves, or 0 without support."""
    try:
        with open(HUGE_PAGES_FILE, encoding="utf-8") as file:
            return int(file.read())
    except OSError:
        return 0


def keep_huge_pages(count):
    """Makes the kernel reserve huge pages, if permitted and available."""
    try:
        with open(HUGE_PAGES_FILE, "w", encoding="utf-8") as file:
            file.write(str(count))
    except OSError as error:
        print(f"without huge pages: {error}", file=sys.stderr)


def read_files(directory):
    """Makes the kernel read all files of a server's databases, up to its memory."""
    for path in files_of(os.path.join(directory, "base")):
        with open(path, "rb") as file:
            while file.read(2**20):
                pass


def forget_files(directory):
    """Makes the kernel drop its cached files: all files as root, otherwise only the files of the directory."""
    os.sync()
    try:
        with open("/proc/sys/vm/drop_caches", "w", encoding="utf-8") as file:
            file.write("3")
        return
    except OSError:
        pass
    for path in files_of(directory):
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def files_of(directory):
    return (os.path.join(folder, name) for folder, _, names in os.walk(directory) for name in names)


def tool(name):
    found = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True, check=False).stdout.strip()
    for directory in [found, *sorted((f"/usr/lib/postgresql/{v}/bin" for v in os.listdir("/usr/lib/postgresql")), reverse=True)]:
        if directory and os.path.exists(os.path.join(directory, name)):
            return os.path.join(directory, name)
    sys.exit(f"{name} is not installed")


def children_of(parent):
    found = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, text=True, check=False)
    return list(map(int, found.stdout.split()))


def cpu_of(parent):
    """CPU seconds of a process and its children."""
    ticks = 0
    for pid in [parent, *children_of(parent)]:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(") ", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def schema():
    """The digest of the migrations."""
    digest = hashlib.sha256()
    for path in sorted(glob.glob(os.path.join(HERE, "..", "..", "..", "sql", "migrations", "*.sql"))):
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()[:16]


class Cluster:
    def __init__(self):
        self.data = os.path.join(DIRECTORY, "data")
        # initdb refuses root.
        self.user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        self.url = f"host={DIRECTORY} dbname=postgres user={self.user}"

    def __enter__(self):
        os.makedirs(DIRECTORY, exist_ok=True)
        if os.geteuid() == 0:
            os.chown(DIRECTORY, pwd.getpwnam(self.user).pw_uid, -1)
        if not os.path.exists(os.path.join(self.data, "PG_VERSION")):
            self.as_user(tool("initdb"), "-D", self.data, "-A", "trust", "-U", self.user, "-E", "UTF8", "--locale=C.UTF-8")
        # Postgres uses huge pages if enough are free. Random lookups in a large table then cost a quarter less.
        self.huge_pages = huge_pages()
        if self.huge_pages < HUGE_PAGES:
            keep_huge_pages(HUGE_PAGES)
        try:
            self.start()
        except BaseException:
            self.give_back_huge_pages()
            raise
        return self

    def __exit__(self, *_):
        # Postgres does not run after a failed restart.
        if os.path.exists(os.path.join(self.data, "postmaster.pid")):
            self.shut_down()
        self.give_back_huge_pages()

    def start(self, **settings):
        options = " ".join(f"-c {name}='{value}'" for name, value in (SETTINGS | settings).items())
        log = os.path.join(DIRECTORY, "postgres.log")
        self.as_user(tool("pg_ctl"), "-D", self.data, "-w", "-t", "300", "-l", log, "-o", options, "start")

    def shut_down(self):
        self.as_user(tool("pg_ctl"), "-D", self.data, "-w", "-t", "300", "-m", "fast", "stop")

    def restart(self, prepare_files):
        """Restarts Postgres with empty memory. `prepare_files` can fill or drop the kernel's cache before."""
        self.shut_down()
        prepare_files(self.data)
        self.start()

    def give_back_huge_pages(self):
        if self.huge_pages < HUGE_PAGES:
            keep_huge_pages(self.huge_pages)

    def pid(self):
        with open(os.path.join(self.data, "postmaster.pid"), encoding="utf-8") as file:
            return int(file.readline())

    def cpu(self):
        return cpu_of(self.pid())

    def as_user(self, *command):
        demote = {"user": self.user, "group": pwd.getpwnam(self.user).pw_gid} if os.geteuid() == 0 else {}
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/", **demote)

    def psql(self, *arguments, database="bench"):
        return subprocess.run(
            [tool("psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", self.url_of(database), *arguments],
            check=True, capture_output=True, text=True,
        ).stdout.strip()

    def url_of(self, database):
        return self.url.replace("dbname=postgres", f"dbname={database}")

    def prepare(self, count, database="bench", fan_out=True, users=0):
        """Creates the database again from a seeded one, so every run starts with the same data."""
        seeded = self.seeded(count, f"{database}_seeded", fan_out, users)
        self.psql("-c", f"DROP DATABASE IF EXISTS {database} WITH (FORCE)", database="postgres")
        self.psql("-c", f"CREATE DATABASE {database} TEMPLATE {seeded} STRATEGY file_copy", database="postgres")
        self.warm(database)

    def warm(self, database):
        self.psql("-c", WARMING, database=database)

    def seeded(self, count, database, fan_out=False, users=0):
        """Fills a database if necessary, and returns its name. Measurements that only read use it without a copy."""
        if not self.is_fresh(database, count):
            self.seed(count, database, fan_out, users)
        return database

    def is_fresh(self, database, count):
        """Whether the seeds are usable: activities live eight hours, and the schema can change."""
        if not self.psql("-Atc", f"SELECT 1 FROM pg_database WHERE datname = '{database}'", database="postgres"):
            return False
        query = f"""
            SELECT count FROM bench_seeds s
            WHERE made_at > now() - interval '6 hours' AND to_jsonb(s) ->> 'schema' = '{schema()}'
        """
        return self.psql("-Atc", query, database=database) == str(count)

    def seed(self, count, database, fan_out, users):
        print(f"filling {database} with {count} activities", file=sys.stderr, flush=True)
        self.empty(database)
        seeds = [("sandbox", 0)] + ([("production", 1)] if fan_out else [])
        for environment, is_fan_out in seeds:
            self.psql("-v", f"count={count}", "-v", f"fan_out={is_fan_out}", "-v", f"environment={environment}",
                      "-v", f"users={users}", "-f", os.path.join(HERE, "seed.sql"), database=database)
        self.psql("-c", "VACUUM ANALYZE", database=database)
        self.psql("-c", f"CREATE TABLE bench_seeds AS SELECT {count} AS count, '{schema()}' AS schema, now() AS made_at; CHECKPOINT", database=database)

    def empty(self, database):
        """Creates an empty database with the schema and one app."""
        self.psql("-c", f"DROP DATABASE IF EXISTS {database} WITH (FORCE)", database="postgres")
        self.psql("-c", f"CREATE DATABASE {database}", database="postgres")
        self.pushreg("migrate", database=database)
        self.pushreg("apps", "create", "com.example.food", database=database)

    def key(self, database="bench"):
        return self.pushreg("keys", "create", "--app", "com.example.food", "--role", "admin", database=database)

    def pushreg(self, *arguments, database="bench"):
        return subprocess.run(
            [PUSHREG, *arguments, "--database-url", self.url_of(database)], check=True, capture_output=True, text=True
        ).stdout.strip()


# Otherwise the first reads from disk would slow down the service that is measured first.
# If memory is too small, the relations of resolves come last and stay in memory, as after some minutes of resolves.
WARMING = """
    CREATE EXTENSION IF NOT EXISTS pg_prewarm;
    SELECT pg_prewarm(oid) FROM (
        SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'public' AND c.relkind IN ('r', 'i') AND c.relpages > 0
        ORDER BY c.relname IN ('activities', 'activities_number_key', 'activity_aliases_pkey') OFFSET 0
    ) AS relations;
"""
