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
