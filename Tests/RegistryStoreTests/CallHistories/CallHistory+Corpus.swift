extension CallHistory {
    /// Histories of earlier faults, and of races that clients have, as JSON. Every run replays them.
    static let corpus = [
        // The end arrives before its registration.
        """
        [{"end":{"activity":0,"ago":1,"by":{"isClient":false}}},
        {"register":{"activity":0,"token":0,"ago":2,"by":{"isClient":false}}}]
        """,
        // APNs reports a death at the time of the claim.
        """
        [{"register":{"activity":0,"token":0,"ago":2,"alias":0,"by":{"isClient":false}}},
        {"feedback":{"reports":[{"token":0,"status":410,"ago":2,"isOfLease":false}]}},
        {"register":{"activity":0,"token":0,"ago":2,"by":{"isClient":false}}},
        {"register":{"activity":0,"token":0,"ago":1,"by":{"isClient":false}}}]
        """,
        // A user takes over a phone; the former user's late profile arrives after that.
        """
        [{"profile":{"alias":2,"ago":3,"by":{"isClient":true,"user":0,"installation":0}}},
        {"put":{"slot":"delivery","token":5,"by":{"isClient":true,"user":0,"installation":0}}},
        {"profile":{"alias":0,"ago":1,"by":{"isClient":true,"user":1,"installation":0}}},
        {"profile":{"alias":2,"ago":2,"by":{"isClient":true,"user":0,"installation":0}}},
        {"plan":{"alias":0,"lease":0}},{"plan":{"alias":0,"lease":1}}]
        """,
        // The late profile of another user removes the owner's older aliases.
        """
        [{"profile":{"alias":0,"ago":3,"by":{"isClient":true,"user":0,"installation":0}}},
        {"profile":{"ago":1,"by":{"isClient":true,"user":0,"installation":0}}},
        {"profile":{"ago":2,"by":{"isClient":true,"user":1,"installation":0}}}]
        """,
        // A full state said that it dismissed an activity that a log-out had ended.
        """
        [{"logOut":{"ago":3,"by":{"isClient":true,"user":1,"installation":0}}},
        {"register":{"activity":3,"token":0,"startedAgo":460,"alias":0,"by":{"isClient":false,"installation":0}}},
        {"fullState":{"items":[{"activity":2}],"ago":-3,"by":{"isClient":false,"installation":0}}}]
        """,
        // A log-out of a fast clock, and an activity that started before it but became known later.
        """
        [{"put":{"slot":"device","token":7,"ago":-3,"by":{"isClient":true,"installation":1}}},
        {"logOut":{"by":{"isClient":true,"installation":1}}},
        {"put":{"slot":"device","token":7,"by":{"isClient":true,"installation":1}}},
        {"register":{"activity":1,"token":1,"by":{"isClient":true,"installation":1}}}]
        """,
        // A burst of reports about good tokens trips the guard, which turns off after a quiet time.
        """
        [{"register":{"activity":0,"token":0,"by":{"isClient":false}}},{"register":{"activity":1,"token":1,"by":{"isClient":false}}},
        {"register":{"activity":2,"token":2,"by":{"isClient":false}}},{"register":{"activity":3,"token":3,"by":{"isClient":false}}},
        {"feedback":{"reports":[{"token":0,"status":400,"isOfLease":false},{"token":1,"status":400,"isOfLease":false},
        {"token":2,"status":400,"isOfLease":false},{"token":3,"status":400,"isOfLease":false}]}},
        {"pass":{"minutes":15}},{"feedback":{"reports":[{"token":0,"status":400,"isOfLease":false}]}}]
        """,
    ]
}
