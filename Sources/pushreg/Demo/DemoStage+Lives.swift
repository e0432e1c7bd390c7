import RegistryCore

// The lives of single activities. Each scene has activities, aliases and tokens of its own.

extension DemoStage {
    /// The app is there, or is made.
    func prepareApp() async throws {
        try screen.begin("The app", "Everything belongs to an app, named by its bundle id.")
        let call = DemoCall(method: .GET, path: "/v1/apps/\(Self.app)")
        try screen.show(call)
        let answer = try await client.send(call)
        try screen.show(answer)
        guard answer.status == .notFound else {
            return try check(
                Expectation.answer(200, [:], "").difference(answer),
                "The app is there.",
                of: answer.status
            )
        }
        let made = Expectation.answer(201, ["bundleId": .string(Self.app)], "The app was missing and is made.")
        try await play(.PUT, call.path, ["name": "Food"], expecting: made)
    }

    /// Registered, resolved, refreshed, ended.
    func normalLife() async throws {
        let (id, alias, token) = ("food-\(run)-1", "order-\(run)-1", makeToken())
        try screen.begin("1. A normal life", "An order is delivered: its activity starts, is refreshed once, and ends.")
        try await register(id, token, under: alias, minute: 0)
        try await resolve(alias, [token], "A sender who knows the order gets its token.")
        try await play(
            .PUT,
            activity(id),
            ["token": .string(token), "observedAt": time(minute: 5)],
            expecting: .answer(200, ["outcome": "refreshed"], "The same token again is a refresh.")
        )
        try await end(id)
        try await resolve(alias, [], "A sender gets nothing any more.")
    }

    /// One token takes the other's place; a request that comes late changes nothing; neither does one after the end.
    func rotationAndLateRetries() async throws {
        let (id, alias) = ("food-\(run)-2", "order-\(run)-2")
        let (old, new) = (makeToken(), makeToken())
        try screen.begin("2. A rotation", "ActivityKit hands the activity another token, and the old one is dead.")
        try await register(id, old, under: alias, minute: 0)
        try await play(
            .PUT,
            activity(id),
            ["token": .string(new), "observedAt": time(minute: 10)],
            expecting: .answer(
                200,
                ["outcome": "rotated"],
                "Another token, observed later, takes the place of the first."
            )
        )
        try await resolve(alias, [new], "A sender gets the new token only.")

        try screen.begin("3. Late retries", "The first request is sent again by a phone that was in a tunnel.")
        try await play(
            .PUT,
            activity(id),
            ["token": .string(old), "observedAt": time(minute: 0)],
            expecting: .answer(409, ["code": "superseded"], "The old token, observed earlier, is refused.")
        )
        try await resolve(alias, [new], "A sender still gets the new token.")
        try await end(id)
        try await play(
            .PUT,
            activity(id),
            ["token": .string(makeToken()), "observedAt": time(minute: 15)],
            expecting: .answer(
                410,
                ["code": "activity-ended"],
                "After its end no registration brings an activity back."
            )
        )
        try await resolve(alias, [], "A sender gets nothing.")
    }

    /// One token cannot belong to two activities.
    func takeover() async throws {
        let token = makeToken()
        let (earlier, later) = ("order-\(run)-3", "order-\(run)-4")
        try screen.begin(
            "4. A takeover",
            "The same token is registered under another activity: it belongs to the later."
        )
        try await register("food-\(run)-3", token, under: earlier, minute: 0)
        try await register("food-\(run)-4", token, under: later, minute: 20)
        try await resolve(earlier, [], "The earlier activity is left without a token.")
        try await resolve(later, [token], "The later one has it.")
        try await end("food-\(run)-4")
    }

    /// The full state of an installation dismisses what it does not list; a later observation undoes that.
    func swipe() async throws {
        let (kept, swiped, alias) = ("food-\(run)-5", "food-\(run)-6", "order-\(run)-5")
        let (keptToken, swipedToken) = (makeToken(), makeToken())
        let phone = "phone-\(Self.randomHex(bytes: 16))"
        try screen.begin(
            "5. A swipe while the app was dead",
            "One phone runs two activities; its user swipes one away, and the app learns of it when it starts again."
        )
        try await register(kept, keptToken, under: alias, minute: 0, on: phone)
        try await register(swiped, swipedToken, under: alias, minute: 0, on: phone)
        try await resolve(alias, [keptToken, swipedToken], "A sender gets both tokens.")
        try await play(
            .PUT,
            path("installations/\(phone)/activities"),
            ["observedAt": time(minute: 30), "activities": [["activityId": .string(kept)]]],
            expecting: .answer(200, ["ended": [.string(swiped)]], "The one that is not listed falls out.")
        )
        try await resolve(alias, [keptToken], "A sender gets the one that is listed.")
        try await play(
            .PUT,
            activity(swiped),
            ["token": .string(swipedToken), "observedAt": time(minute: 35), "installationId": .string(phone)],
            expecting: .answer(
                200,
                ["outcome": "reactivated", "state": "active"],
                "A later observation brings it back."
            )
        )
        try await resolve(alias, [keptToken, swipedToken], "A sender gets both again.")
        let both = Expectation.answer(200, ["ended": 2], "The sender ends all that the order names.")
        try await play(.DELETE, activities(under: alias), expecting: both)
    }
}

extension DemoStage {
    private func register(
        _ id: String,
        _ token: String,
        under alias: String,
        minute: Int,
        on phone: String? = nil
    ) async throws {
        var body: JSONObject = ["token": .string(token), "observedAt": time(minute: minute)]
        body["aliases"] = [Alias.liveActivityKind: .string(alias)]
        body["installationId"] = phone.map { .string($0) }
        let expected: JSONObject = ["outcome": "registered", "state": "active"]
        try await play(.PUT, activity(id), body, expecting: .answer(201, expected, "The activity is registered."))
    }

    private func resolve(_ alias: String, _ tokens: [String], _ sentence: String) async throws {
        try await play(.GET, activities(under: alias), expecting: .tokens(tokens, sentence))
    }

    private func end(_ id: String) async throws {
        try await play(.DELETE, activity(id), expecting: .answer(204, [:], "The activity ends, for good."))
    }
}
