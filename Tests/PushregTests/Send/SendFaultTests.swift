import APNsStandIn
import Foundation
import RegistryCore
import TestSupport
import Testing

@testable import pushreg

/// `pushreg send` where APNs, the way to it or the database does not do its part.
@Suite(.timeLimit(.minutes(15))) struct SendFaultTests {
    @Test("Where nobody answers, the command says so and gives the leases back") func nobodyAnswers() async throws {
        try await SendTrial.run { trial in
            try await trial.idlePhone(3)
            try await trial.idlePhone(4)
            let outcome = try await trial.send(SendTrial.start, url: "https://127.0.0.1:\(FreePort.take())")
            #expect(outcome.status == 69 && outcome.words.contains("Connection refused"), "\(outcome.words)")
            guard case .start(_, let lease)? = try await trial.step() else {
                Issue.record("a lease is left")
                return
            }
            #expect(lease.attempt == 1)
        }
    }

    @Test("A certificate that is not trusted is refused, and the key stays here") func theCertificateIsChecked()
        async throws
    {
        try await SendTrial.run { trial in
            try await trial.runActivity(1)
            let other = try StandInCertificate()
            defer { other.remove() }
            let outcome = try await trial.send(SendTrial.content + ["--apns-root", other.certificate])
            #expect(outcome.status == 69 && outcome.words.contains("certificate is not trusted"), "\(outcome.words)")
            #expect(trial.apns.model.records.isEmpty)
        }
    }

    @Test("Connections that are sent away after each push, and slow answers, lose no push") func goAwayLosesNothing()
        async throws
    {
        try await SendTrial.run { trial in
            for number in 1...4 { try await trial.runActivity(number) }
            trial.apns.setFaults { faults in
                faults.goAwayAfter = 1
                faults.answerDelay = .milliseconds(200)
            }
            let outcome = try await trial.send(SendTrial.content)
            #expect(outcome.status == 0, "\(outcome.words)")
            for number in 1...4 { #expect(trial.shown(number).first?.content == #"{"minutes":7}"#) }
            #expect(trial.apns.connections > 1)
        }
    }

    @Test("A push whose answer is lost goes out again by the same id, and starts one activity") func aLostAnswer()
        async throws
    {
        try await SendTrial.run { trial in
            try await trial.idlePhone(3)
            // The first is taken and its answer lost; the second is answered.
            trial.apns.setFaults { $0.resetEvery = 1 }
            async let outcome = trial.send(SendTrial.start)
            try await until { !trial.apns.model.records.isEmpty }
            trial.apns.setFaults { $0.resetEvery = nil }
            let end = try await outcome
            #expect(end.status == 0, "\(end.words)")
            let records = trial.apns.model.records
            #expect(records.count >= 2 && Set(records.map { $0.fields["apns-id"] }).count == 1)
            #expect(trial.shown(3).count == 1)
        }
    }

    @Test("A push that is never answered keeps its lease") func silenceKeepsTheLease() async throws {
        try await SendTrial.run { trial in
            try await trial.idlePhone(3)
            trial.apns.setFaults { $0.resetEvery = 1 }
            let outcome = try await trial.send(SendTrial.start)
            #expect(outcome.status == 69 && outcome.words.contains("its lease stays until"), "\(outcome.words)")
            #expect(trial.apns.model.records.count == PushTries.most)
            guard case .wait(.leased, _)? = try await trial.step() else {
                Issue.record("the lease is gone")
                return
            }
        }
    }

    @Test("503 and 429 are tried again, and not for ever", arguments: [503, 429])
    func busyIsTriedAgain(_ status: Int) async throws {
        try await SendTrial.run { trial in
            try await trial.runActivity(1)
            try await trial.runActivity(2)
            func setFault(every turn: Int) {
                trial.apns.setFaults { faults in
                    if status == 503 { faults.unavailableEvery = turn } else { faults.tooManyEvery = turn }
                }
            }
            setFault(every: 2)
            let outcome = try await trial.send(SendTrial.content)
            #expect(outcome.status == 0 && outcome.words.contains("APNs answered \(status)"), "\(outcome.words)")
            let before = trial.apns.model.records.count
            setFault(every: 1)
            let refused = try await trial.send(SendTrial.content)
            #expect(refused.status == 1 && refused.results.contains("→ kept: "), "\(refused.words)")
            #expect(trial.apns.model.records.count == before + 2 * PushTries.most)
        }
    }

    @Test("A database that is away is named as such, before anything is sent") func theDatabaseIsAway() async throws {
        try await SendTrial.run { trial in
            let outcome = try await trial.send(SendTrial.content + ["--database-url", "host=/nowhere"])
            #expect(outcome.status == 69 && outcome.words.contains("Postgres is not available"), "\(outcome.words)")
            #expect(trial.apns.connections == 0)
        }
    }
}
