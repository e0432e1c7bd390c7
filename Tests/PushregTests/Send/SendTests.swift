import APNsStandIn
import Foundation
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import pushreg

/// `pushreg send` against a registry and a stand-in for APNs.
@Suite(.timeLimit(.minutes(15))) struct SendTests {
    @Test("An update reaches each activity of the alias, and the registry hears that its token works")
    func anUpdateReachesEachActivity() async throws {
        try await SendTrial.run { trial in
            try await trial.runActivity(1)
            try await trial.runActivity(2)
            let outcome = try await trial.send(SendTrial.content + ["--priority", "5"])
            #expect(outcome.status == 0, "\(outcome.words)")
            #expect(outcome.words == "2 pushes, taken by APNs.\n")
            #expect(
                trial.shown(1).first?.content == #"{"minutes":7}"# && trial.shown(2).first?.content == #"{"minutes":7}"#
            )
            #expect(outcome.results.components(separatedBy: "delivered: ").count == 3, "\(outcome.results)")
            let record = try #require(trial.apns.model.records.first)
            #expect(record.fields["apns-priority"] == "5" && record.fields["apns-collapse-id"] == nil)
            #expect(abs((record.timestamp ?? 0) - Int(Date().timeIntervalSince1970)) < 60)
        }
    }

    @Test("An end takes the activity off the phone, with its dismissal date") func anEndReachesTheActivity()
        async throws
    {
        try await SendTrial.run { trial in
            try await trial.runActivity(1)
            let end = ["--event", "end", "--dismissal-date", "2026-03-01T12:00:00Z", "--json"]
            let outcome = try await trial.send(end)
            #expect(outcome.status == 0, "\(outcome.words)")
            #expect(trial.shown(1).first?.isEnded == true)
            let aps = try JSONParser.parse(outcome.results)["payload"]?["aps"]
            #expect(aps?["dismissal-date"] == 1_772_366_400 && aps?["event"] == "end" && aps?["content-state"] == nil)
        }
    }

    @Test("A start goes out under a lease, and another planner waits") func aStartGoesOutUnderALease() async throws {
        try await SendTrial.run { trial in
            try await trial.idlePhone(3)
            let outcome = try await trial.send(SendTrial.start + ["--lease", "PT10M"])
            #expect(outcome.status == 0, "\(outcome.words)")
            #expect(trial.shown(3).count == 1)
            guard case .wait(.leased, let leasedUntil)? = try await trial.step() else {
                Issue.record("\(String(describing: try await trial.step()))")
                return
            }
            #expect(leasedUntil.timeIntervalSinceNow < 600)
            let record = try #require(trial.apns.model.records.first)
            let expiration = record.fields["apns-expiration"].flatMap { Double($0) } ?? .infinity
            #expect(expiration <= leasedUntil.timeIntervalSince1970 && record.event == "start")
            #expect(record.fields["apns-collapse-id"]?.count == 32)
            let again = try await trial.send(SendTrial.start)
            #expect(again.status == 1 && again.results.contains("wait on installation 0303030303030303 (leased)"))
            #expect(trial.apns.model.records.count == 1)
        }
    }

    @Test("Where an activity runs, a start sends the update") func aStartUpdatesWhatRuns() async throws {
        try await SendTrial.run { trial in
            try await trial.runActivity(1)
            let outcome = try await trial.send(SendTrial.start)
            #expect(outcome.status == 0 && outcome.results.hasPrefix("update activity a-1\n"), "\(outcome.words)")
            #expect(trial.shown(1).first?.content == #"{"minutes":7}"#)
        }
    }

    @Test("A 410 with its time drops the token") func a410DropsTheToken() async throws {
        try await SendTrial.run { trial in
            try await trial.runActivity(1)
            trial.apns.change { $0.kill(SendTrial.hex(1), at: Date()) }
            let outcome = try await trial.send(SendTrial.content)
            #expect(outcome.status == 1 && outcome.words.contains("APNs refused 1 of 1 push."), "\(outcome.words)")
            #expect(outcome.results.contains("→ 410 Unregistered") && outcome.results.contains("→ dropped: "))
            #expect(
                try await trial.database.registry.activities(under: SendTrial.order, limit: 9, in: trial.scope) == []
            )
        }
    }

    @Test("A 410 older than the registration drops nothing") func anOld410DropsNothing() async throws {
        try await SendTrial.run { trial in
            try await trial.runActivity(1)
            trial.apns.change { $0.kill(SendTrial.hex(1), at: Date(timeIntervalSinceNow: -3600)) }
            let outcome = try await trial.send(SendTrial.content)
            #expect(outcome.status == 1 && outcome.results.contains("→ kept-newer: "), "\(outcome.results)")
        }
    }

    @Test("BadDeviceToken puts the token into quarantine, and the others are pushed to")
    func badDeviceTokenIsQuarantined() async throws {
        try await SendTrial.run { trial in
            try await trial.runActivity(1, isKnownToAPNs: false)
            try await trial.runActivity(2)
            let outcome = try await trial.send(SendTrial.content)
            #expect(outcome.status == 1 && outcome.words.contains("APNs refused 1 of 2 pushes."), "\(outcome.words)")
            #expect(outcome.results.contains("→ quarantined: ") && outcome.results.contains("→ delivered: "))
        }
    }

    @Test("A key that APNs refuses stops the run, and costs the phone no attempt") func aRefusedKeyStopsTheRun()
        async throws
    {
        try await SendTrial.run { trial in
            try await trial.idlePhone(3)
            try await trial.idlePhone(4)
            let key = trial.apns.certificate.directory + "/other.p8"
            try ProviderKey().pem.write(toFile: key, atomically: true, encoding: .utf8)
            let outcome = try await trial.send(SendTrial.start, key: key)
            #expect(outcome.status == 1 && outcome.words.contains("403 InvalidProviderToken"), "\(outcome.words)")
            #expect(trial.apns.model.records.count == 1)
            guard case .start(_, let lease)? = try await trial.step() else {
                Issue.record("a lease is left")
                return
            }
            #expect(lease.attempt == 1)
        }
    }

    @Test("An activity of the other environment is not pushed to, and is named") func theOtherEnvironmentIsNamed()
        async throws
    {
        try await SendTrial.run { trial in
            try await trial.runActivity(1, in: .production)
            let outcome = try await trial.send(SendTrial.content)
            #expect(outcome.status == 1 && outcome.words.contains("There is one in production."), "\(outcome.words)")
            #expect(outcome.results == "" && trial.apns.model.records.isEmpty)
        }
    }

    @Test("A rehearsal needs no key, sends nothing, and leaves no lease and no event") func aRehearsalChangesNothing()
        async throws
    {
        try await SendTrial.run { trial in
            try await trial.runActivity(1)
            try await trial.idlePhone(3)
            let before = try await trial.marks()
            let place = ["send", "com.example.food", "sandbox", "liveactivityId", "order-42", "--dry-run"]
            let outcome = try await Program.run(place + SendTrial.start + trial.databaseFlags)
            #expect(outcome.status == 0 && outcome.words == "2 pushes, not sent.\n", "\(outcome.words)")
            #expect(outcome.results.contains(#""event":"start""#) && outcome.results.contains(#""event":"update""#))
            #expect(outcome.results.contains("POST https://api.sandbox.push.apple.com/3/device/…"))
            #expect(try await trial.marks() == before)
            let signed = try await trial.send(SendTrial.start + ["--dry-run"])
            #expect(signed.status == 0 && trial.apns.connections == 0)
        }
    }

    @Test("Nothing to push to is no success, and a channel is named and not pushed to") func nothingToPushTo()
        async throws
    {
        try await SendTrial.run { trial in
            let outcome = try await trial.send(SendTrial.content)
            #expect(
                outcome.status == 1 && outcome.words.contains("There is nothing to push to for liveactivityId:order-42")
            )
            let channel = try BroadcastChannel(id: "Y2hhbm5lbA==", storagePolicy: .none)
            _ = try await trial.database.registry.put(channel, for: SendTrial.order, in: trial.scope, by: "test")
            let other = try await trial.send(SendTrial.content)
            #expect(other.status == 1 && other.words.contains("Nothing is sent to channels"), "\(other.words)")
        }
    }

    @Test("A line of JSON says all of a push") func aLineOfJSONSaysAll() async throws {
        try await SendTrial.run { trial in
            try await trial.runActivity(1)
            let outcome = try await trial.send(
                SendTrial.content + ["--json", "--alert-title", "Soon", "--alert-body", "Now"]
            )
            let line = try JSONParser.parse(outcome.results)
            #expect(line["action"] == "update" && line["activityId"] == "a-1" && line["answer"]?["status"] == 200)
            #expect(line["fingerprint"] == .string(TokenFingerprint.text(of: PushToken.sample(1).bytes)))
            #expect(line["headers"]?["apns-topic"] == .string(SendTrial.topic))
            #expect(line["headers"]?["apns-id"] == line["answer"]?["apnsId"])
            #expect(line["payload"]?["aps"]?["alert"] == ["title": "Soon", "body": "Now"])
            #expect(line["feedback"]?["action"] == "delivered")
        }
    }

    @Test("No token, JWT or key is printed, whatever happens", arguments: [[], ["--json"]])
    func noSecretIsPrinted(_ flags: [String]) async throws {
        try await SendTrial.run { trial in
            try await trial.runActivity(1)
            try await trial.runActivity(2, isKnownToAPNs: false)
            try await trial.idlePhone(3)
            let sent = try await trial.send(SendTrial.start + flags)
            let away = try await trial.send(SendTrial.content + flags, url: "https://127.0.0.1:1")
            let dry = try await trial.send(SendTrial.start + flags + ["--dry-run"])
            let printed = [sent, away, dry].map { $0.results + $0.words }.joined()
            #expect(printed.contains(TokenFingerprint.text(of: PushToken.sample(3).bytes)))
            let secrets = [1, 2, 3].map { SendTrial.hex($0) } + ["eyJ", "bearer", "PRIVATE"]
            for secret in secrets + trial.apns.key.pem.split(separator: "\n").map(String.init) {
                #expect(!printed.contains(secret), "\(secret)")
            }
        }
    }
}
