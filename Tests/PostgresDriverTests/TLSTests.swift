import Foundation
import PostgresDriver
import Testing

@testable import EmbeddedPostgres

@Suite struct TLSTests {
    /// A server with a certificate for localhost, and two authorities: its signer and another.
    private final class Server: Sendable {
        let cluster: ThrowawayCluster

        init() async throws {
            cluster = try await ThrowawayCluster.start(settings: ["ssl": "on"]) { files in
                for authority in ["right", "wrong"] { try Self.makeAuthority(authority, in: files) }
                try Self.sign("\(files)/server", with: "\(files)/right")
            }
        }

        private static func makeAuthority(_ name: String, in directory: String) throws {
            let (key, certificate) = ("\(directory)/\(name).key", "\(directory)/\(name).crt")
            try openssl("req -x509 \(newKey) -days 2 -subj /CN=\(name) -keyout \(key) -out \(certificate)")
        }

        private static func sign(_ path: String, with authority: String) throws {
            try openssl("req \(newKey) -subj /CN=localhost -keyout \(path).key -out \(path).csr")
            let signer = "-CA \(authority).crt -CAkey \(authority).key -set_serial 1"
            try openssl("x509 -req -in \(path).csr \(signer) -days 2 -out \(path).crt")
            for file in [path + ".key", path + ".crt"] { try ThrowawayCluster.giveToServer(file) }
            _ = chmod(path + ".key", 0o600)
        }

        private static let newKey = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"

        private static func openssl(_ arguments: String) throws {
            let outcome = try Command(["/usr/bin/openssl"] + arguments.split(separator: " ").map(String.init)).run()
            guard outcome.succeeded else { throw Failure("openssl \(arguments): \(outcome.output)") }
        }

        func string(host: String, authority: String) -> String {
            """
            host=\(host) hostaddr=127.0.0.1 port=\(cluster.port) user=postgres dbname=postgres \
            sslmode=verify-full sslrootcert=\(cluster.files)/\(authority).crt
            """
        }
    }

    @Test func `sslmode=verify-full checks the authority and the name`() async throws {
        let server = try await Server()
        try await withPool(1, on: server.string(host: "localhost", authority: "right")) { pool in
            let isEncrypted: SQL = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
            #expect(try await pool.value(Bool.self, isEncrypted))
            let large = [UInt8](repeating: 1, count: 3 << 20)
            let echoed = try await pool.withSession { session in
                try session.pipeline([SQL("SELECT \(large)"), SQL("SELECT \(large)")])[1][0].decode([UInt8].self)
            }
            #expect(echoed == large)
        }
        for (host, authority) in [("localhost", "wrong"), ("elsewhere", "right")] {
            let configuration = PostgresConfiguration(connectionString: server.string(host: host, authority: authority))
            try await withPool(configuration: configuration) { pool in
                let error = try await postgresError { try await pool.run("SELECT 1") }
                #expect(error.code == .connectionFailed)
                #expect(error.message?.contains("certificate") == true)
            }
        }
    }

    @Test func `sslmode=require in a URL encrypts, and fails on a server without TLS`() async throws {
        let server = try await Server()
        func string(_ cluster: ThrowawayCluster) -> String {
            "postgresql://postgres@127.0.0.1:\(cluster.port)/postgres?sslmode=require&channel_binding=prefer"
        }
        #expect(ConnectionString.fault(in: string(server.cluster)) == nil)
        try await withPool(1, on: string(server.cluster)) { pool in
            let isEncrypted = try await pool.value(
                Bool.self,
                "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
            )
            #expect(isEncrypted)
        }
        let plain = try await ThrowawayCluster.start()
        try await withPool(configuration: PostgresConfiguration(connectionString: string(plain))) { pool in
            let error = try await postgresError { try await pool.run("SELECT 1") }
            #expect(error.message?.contains("does not support SSL") == true)
        }
    }
}

@Suite struct ConnectionStringTests {
    @Test(arguments: [
        (
            "postgres://u:hunter2@h/d?schema=public",
            #"the parameter "schema", which libpq does not know. Write options="#
        ),
        (
            "postgres://u:hunter2@h/d?pgbouncer=true",
            #"the parameter "pgbouncer", which libpq does not know. Remove it."#
        ),
        ("postgres://u:hunter2@h/d?sslmode=require&connection_limit=1", #""connection_limit""#),
        ("postgres://u:hunter2@h/d?ssl=true&statement-cache=0", #""statement-cache""#),
        ("host=h dbname=d schema=x password=hunter2", #""schema""#),
        ("jdbc:postgresql://h:5432/d?user=u&password=hunter2", "begins with jdbc:"),
        ("postgresql+asyncpg://u:hunter2@h/d", "begins with postgresql+asyncpg://"),
        ("POSTGRES://u:hunter2@h/d", "begins with POSTGRES://"), ("mysql://u:hunter2@h/d", "begins with mysql://"),
        ("psql 'postgres://u:hunter2@h/d'", "begins with psql"),
        ("postgres://u:hunter2@h/d?sslmode=no-verify", "has the unknown sslmode no-verify. Use one of disable"),
        ("postgres://u:hunter2@h:abc/d", "a port that is not a number"),
        ("host=h port=70000", "a port that is not a number"),
        ("postgres://u:p@hunter2@h/d", "an @ in its host"),
        ("postgres://u:hunter2/a@h/d", "percent-encode special characters"),
        ("postgres://u:hunter2%zz@h/d", "percent-encode special characters"),
        ("postgres://u:hunter2@h/d # staging", "contains white space"),
        ("postgres://u:p@\n hunter2@h/d", "contains white space"),
        ("u:hunter2@h:5432/d", "does not have a form that libpq knows"),
        ("Server=h;Port=5432;User Id=u;Password=hunter2", "has semicolons, as in .NET"),
        ("host=h;port=5432;username=u;password=hunter2", "has semicolons, as in .NET"),
        ("host=h:5432 dbname=d password=hunter2", "has a port in its host. Write it as port=PORT."),
        ("postgres://u:hunter2@h/d?sslmode=verify_full", "has the unknown sslmode verify_full. Use one of disable"),
        ("postgres://u:hunter2@h/d?sslmode=", "has the unknown sslmode. Use one of disable"),
    ])
    func `A connection string that libpq refuses is reported with the reason`(_ text: String, _ words: String) {
        let fault = ConnectionString.fault(in: text)
        #expect(fault?.contains(words) == true, "\(fault ?? "none")")
        #expect(fault?.contains("hunter2") != true)
    }

    /// The unknown name may be part of the password.
    @Test(arguments: [
        "postgres://u:a/b?hunter2=d@h/d", "host=h password=a hunter2=b", "host=h hunter2",
        "postgres://h/d?password=a&hunter2=b",
        "hunter2:x", "postgres://u:hunter2=@h:x/d",
    ])
    func `An error contains no part of a password`(_ text: String) throws {
        #expect(try #require(ConnectionString.fault(in: text)).contains("hunter2") == false)
    }

    @Test(arguments: [
        "host=h", "postgresql:///d?host=/var/run/postgresql", "postgres://u:p@[::1]:5432/d", "postgres://u:p%40w@h/d",
        "postgres://u:p@a:5432,b:5433/d?target_session_attrs=read-write", "postgres://u:a?b=c@h/d",
        "postgres://u@h/d?ssl=true", "host=::1", "host=/cloudsql/project:region:1",
        "postgresql://u:p@ep-cool-name-123456-pooler.eu-central-1.aws.neon.tech/d?sslmode=require&channel_binding=require",
        "host=s.postgres.database.azure.com port=5432 dbname=d user=u@s password=p sslmode=require",
        "postgres://u:p@ec2-1-2-3-4.compute-1.amazonaws.com:5432/d1", "postgres://%2Fvar%2Frun%2Fpostgresql/d",
        "service=s",
    ])
    func `Connection strings of hosting providers and all forms of libpq are accepted`(_ text: String) {
        #expect(ConnectionString.fault(in: text) == nil)
    }
}
