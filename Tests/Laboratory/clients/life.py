"""Plays the life of an activity with a generated client. Calls every operation, and checks the types of all responses.

    life.py GENERATOR DIRECTORY URL DOCUMENT

GENERATOR is a generator in callers.py, DIRECTORY has its client, and DOCUMENT is openapi.json. PUSHREG_ROOT_KEY is a root
key. Prints the faults and then the number of calls, and exits with 1 after a fault.
"""

import datetime
import json
import os
import sys

from callers import KINDS


def given(value):
    """The given members. Null counts as absent, and the default of the user's claim is `sub`."""
    return {name: part for name, part in value.items() if part is not None and (name, part) != ("subjectClaim", "sub")}


class Life:
    def __init__(self, caller, root, bundle_id):
        self.caller, self.keys = caller, {"root": root, None: None, "nobody": "prc_000000000000_" + "0" * 30}
        self.calls, self.wrong, self.operations = 0, [], set()
        self.app = {"bundle_id": bundle_id}
        self.sandbox = {**self.app, "environment": self.enum("Environment", "sandbox")}
        self.phone = {**self.sandbox, "installation_id": "phone-1"}
        self.now = datetime.datetime.now(datetime.timezone.utc)

    # --- words of the life

    def enum(self, name, value):
        return getattr(self.caller.models, name)(value)

    def make(self, model, **members):
        return self.caller.make(model, **members)

    def check(self, is_right, words):
        if not is_right:
            self.wrong.append(words)
            print(f"WRONG {words}", file=sys.stderr)

    def call(self, operation, role, status, model=None, body=None, code=None, **parameters):
        """A call with an expected status and model, and for a problem with an expected code."""
        self.calls += 1
        self.operations.add(operation)
        try:
            given, answer = self.caller.call(operation, self.keys[role], body, parameters)
        except Exception as error:  # generated code can raise any error
            self.check(False, f"{operation}: {type(error).__name__}: {error}"[:600])
            return None
        self.check(given == status, f"{operation}: {given} instead of {status}: {self.caller.plain(answer)}"[:600])
        name = type(answer).__name__
        self.check(model is None or name == model, f"{operation} {given}: parsed as {name} instead of {model}")
        if code and name == model:
            found = getattr(answer.code, "value", answer.code)
            self.check((found, answer.status) == (code, status), f"{operation}: {found} instead of {code}")
        return answer if name == model and given == status else None

    def minutes(self, count):
        return self.now + datetime.timedelta(minutes=count)

    @staticmethod
    def token(number):
        return f"{number:02x}" * 40

    def registration(self, number, minutes, **members):
        return self.make("Registration", token=self.token(number), observed_at=self.minutes(minutes), **members)

    def kinds_of(self, results):
        return [type(getattr(result, "actual_instance", result)).__name__ for result in results]

    # --- the life

    def live(self):
        self.begin()
        self.run()
        self.send()
        self.keep_full_state()
        self.install()
        self.broadcast()
        self.look_into()
        self.end()

    def begin(self):
        """Creates an app with keys, reads its settings, and writes them back."""
        keys = self.make("JSONWebKeySet", keys=[self.caller.mapping("JSONWebKeySetKeysItem", {
            "kty": "EC", "crv": "P-256", "kid": "life", "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
            "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"})])
        audience = self.caller.one_of("Audience", ["food", "drink"])
        jwt = self.make("JWTSettings", issuer="https://login.example.com", audience=audience, jwks=keys)
        rules = self.caller.mapping("AliasRuleChanges", {"matchId": "any", "orderId": None})
        settings = self.make("AppSettings", name="Life", activity_lifetime="PT4H", alias_rules=rules, jwt=jwt)
        self.call("putApp", "root", 201, "App", settings, **self.app)
        app = self.call("getApp", "root", 200, "App", **self.app)
        if app:
            self.check(given(self.caller.plain(app.jwt)) == given(self.caller.plain(jwt)), f"the JWT settings were returned as {app.jwt}")
            again = self.make("AppSettings", name=app.name, jwt=app.jwt, activity_lifetime=app.activity_lifetime)
            written = self.call("putApp", "root", 200, "App", again, **self.app)
            self.check(written and written.jwt == app.jwt, "the JWT settings, written back")
        self.call("putApp", "root", 422, "InvalidProblem", code="invalid-request", **self.app,
                  body=self.make("AppSettings", jwt=self.make("JWTSettings", issuer="https://login.example.com")))
        for role in ("client", "sender", "admin"):
            made = self.call("createKey", "root", 201, "NewKey", **self.app, body=self.make(
                "KeyRequest", role=self.enum("Role", role), name=role, expires_in="P90D"))
            self.keys[role] = made.key if made else None
        twice = self.make("KeyRequest", role=self.enum("Role", "client"), expires_in="P90D", expires_at=self.minutes(60))
        refused = self.call("createKey", "root", 422, "InvalidProblem", twice, code="invalid-request", **self.app)
        self.check(refused and [fault.pointer for fault in refused.errors] == ["/expiresIn"], "a key that expires twice")
        self.call("listApps", "root", 200, "AppList")

    def run(self):
        """An activity: registered with aliases and rotated, with refusals."""
        aliases = self.caller.alias_map({"liveactivityId": "order-42", "matchId": ["match-7", "match-8"]})
        one = {**self.sandbox, "activity_id": "a-1", "x_installation_id": "phone-1"}
        first = self.registration(1, -9, aliases=aliases, started_at=self.minutes(-10), frequent_pushes_enabled=True,
                                  metadata=self.caller.mapping("Metadata", {"seat": [1, None, {"row": "A"}]}))
        made = self.call("registerActivity", "client", 201, "RegistrationResponse", first, **one)
        self.check(made and made.outcome == self.enum("Outcome", "registered"), "the first registration's outcome")
        here = self.call("followChanges", "sender", 200, "ChangePage", **self.sandbox)
        made = self.call("registerActivity", "client", 200, "RegistrationResponse", self.registration(2, -5), **one)
        self.check(made and made.outcome == self.enum("Outcome", "rotated"), "the rotation's outcome")
        page = here and self.call("followChanges", "sender", 200, "ChangePage", **self.sandbox, after=here.after, wait=30)
        told = page and [(change["type"], change["activityId"]) for change in self.caller.plain(page)["changes"]]
        self.check(told == [("rotated", "a-1")], f"the changes of a rotation are {told}")
        self.call("followChanges", "sender", 422, "InvalidProblem", code="invalid-request", **self.sandbox, after="none")
        late = self.call("registerActivity", "client", 409, "SupersededProblem", self.registration(3, -7),
                         code="superseded", **one)
        self.check(late and late.observed_at > self.minutes(-6), "the time in a 409")
        foreign = self.registration(4, -4, aliases=self.caller.alias_map({"userId": "u-1"}))
        self.call("registerActivity", "client", 403, "RegistrationForbiddenProblem", foreign, code="alias-not-allowed", **one)
        early = self.call("registerActivity", "client", 422, "InvalidOrSkewedProblem", self.registration(4, 60),
                          code="clock-skew", **one)
        self.check(early and early.server_time is not None, "the server's time in a 422")
        self.call("registerActivity", "nobody", 401, "UnauthenticatedProblem", self.registration(4, -3),
                  code="unauthenticated", **one)
        self.call("registerActivity", "client", 404, "UnknownAppProblem", self.registration(4, -3), code="unknown-app",
                  **{**one, "bundle_id": "com.example.none"})
        named = self.make("AliasRegistration", token=self.token(5), alias="order-43", observed_at=self.minutes(-5))
        phone = {**self.sandbox, "x_installation_id": "phone-1"}
        self.call("registerActivityByAlias", "client", 201, "RegistrationResponse", named, **phone)
        self.call("endActivityByAlias", "client", 204, alias="order-43", observed_at=self.minutes(-1), **phone)

    def send(self):
        """A sender: resolves single aliases and many, and reports feedback."""
        record = self.call("getActivity", "sender", 200, "ActivityRecord", **self.sandbox, activity_id="a-1")
        self.check(record and record.token == self.token(2), "the token of a sender")
        self.call("getActivity", "sender", 404, "UnknownActivityProblem", code="activity-not-found", **self.sandbox,
                  activity_id="nothing")
        self.call("getActivity", "client", 403, "ForbiddenProblem", code="forbidden", **self.sandbox, activity_id="a-1")
        for kind, value in (("liveactivityId", "order-42"), ("matchId", "match-7"), ("matchId", "match-8")):
            page = self.call("listActivitiesByAlias", "sender", 200, "AliasPage", **self.sandbox, kind=kind, value=value)
            tokens = page and [activity.token for activity in page.activities]
            self.check(tokens == [self.token(2)], f"the result of resolving {kind} {value}")
        # The maximum number of characters, but too many bytes.
        values = ["order-42", "ü" * 200, "nothing"]
        request = self.make("ResolveRequest", limit_per_alias=10, aliases=[
            self.make("Alias", kind="liveactivityId", value=value) for value in values])
        answer = self.call("resolveAliases", "sender", 200, "ResolveResponse", request, **self.sandbox)
        if answer:
            kinds = self.kinds_of(answer.results)
            self.check(kinds == ["ResolvedAlias", "RefusedAlias", "ResolvedAlias"], f"resolved aliases as {kinds}")
        reports = [self.make("FeedbackReport", token=self.token(2), status=200),
                   self.make("FeedbackReport", token=self.token(2), status=410, reason="ü" * 200),
                   self.make("FeedbackReport", token=self.token(99), status=410, timestamp=1_700_000_000_000)]
        answer = self.call("reportFeedback", "sender", 200, "FeedbackResponse", **self.sandbox,
                           body=self.make("FeedbackRequest", reports=reports))
        if answer:
            kinds = self.kinds_of(answer.results)
            self.check(kinds == ["FeedbackResult", "RefusedReport", "FeedbackResult"], f"feedback as {kinds}")
        post = self.make("GorushPost", type="failed-push", platform="ios", token=self.token(99), error="Unregistered")
        given = self.call("giveGorushFeedback", "sender", 200, "GorushResult", post, **self.sandbox)
        self.check(given and given.action == "unknown", f"a post of gorush about an unknown token: {given}")
        self.call("releaseActivity", "admin", 200, "ReleasedCount", **self.sandbox, activity_id="a-1")
        self.call("releaseAll", "admin", 200, "ReleasedCount", **self.sandbox)

    def keep_full_state(self):
        """A full state with a refused item, the end, and registrations after it."""
        other = {**self.sandbox, "activity_id": "a-2", "x_installation_id": "phone-1"}
        self.call("registerActivity", "client", 201, "RegistrationResponse", self.registration(6, -5), **other)
        self.call("endActivity", "client", 204, reason=self.enum("EndReason", "dismissed"), **other)
        gone = self.call("registerActivity", "client", 410, "GoneProblem", self.registration(7, -1), code="activity-ended",
                         **other)
        self.check(gone and gone.state == self.enum("ActivityState", "ended"), "the state in a 410")
        items = [self.make("FullStateItem", activity_id="a-1", aliases=self.caller.alias_map({"matchId": "match-9"})),
                 self.make("FullStateItem", activity_id="a-2", token=self.token(7))]
        state = self.make("FullState", observed_at=self.minutes(0), activities=items)
        answer = self.call("putFullState", "client", 200, "FullStateResponse", state, **self.phone)
        if answer:
            kinds = self.kinds_of(answer.results)
            self.check(kinds == ["AppliedItem", "RefusedActivity"], f"items of a full state as {kinds}")

    def install(self):
        """An installation with its tokens."""
        profile = self.make("InstallationProfile", aliases=self.caller.alias_map({"matchId": ["match-7"]}),
                            metadata=self.caller.mapping("Metadata", {"theme": "dark"}))
        self.call("putInstallation", "client", 200, "InstallationResponse", profile, **self.phone)
        start = {**self.phone, "attributes_type": "Delivery"}
        token = self.make("TokenRegistration", token=self.token(20), observed_at=self.minutes(-2))
        self.call("putStartToken", "client", 201, "TokenResponse", token, **start)
        token = self.make("TokenRegistration", token=self.token(21))
        self.call("putDeviceToken", "client", 201, "TokenResponse", token, **self.phone)
        widget = {"token_kind": "widget"}
        token = self.make("TokenRegistration", token=self.token(22))
        self.call("putTokenOfKind", "client", 201, "TokenResponse", token, **self.phone, **widget)
        match = {**self.sandbox, "kind": "matchId", "value": "match-7"}
        for operation, number, more in (("listStartTokensByAlias", 20, {}), ("listDeviceTokensByAlias", 21, {}),
                                        ("listTokensOfKindByAlias", 22, widget)):
            page = self.call(operation, "sender", 200, "TokenPage", **match, **more)
            self.check(page and [token.token for token in page.tokens] == [self.token(number)], f"the result of {operation}")
        record = self.call("getInstallation", "admin", 200, "InstallationRecord", **self.phone)
        aliases = record and self.caller.plain(record).get("aliases")
        self.check(aliases == {"matchId": ["match-7"]}, f"aliases of the installation: {aliases}")
        self.plan()
        self.call("releaseStartToken", "admin", 204, **start)
        self.call("releaseDeviceToken", "admin", 204, **self.phone)
        self.call("releaseTokenOfKind", "admin", 204, **self.phone, **widget)

    def plan(self):
        """A planned start, given back and planned again."""
        alias = {name: self.make("Alias", kind=kind, value=value)
                 for name, kind, value in (("order", "orderId", "order-99"), ("match", "matchId", "match-7"))}
        request = self.make("PlanRequest", alias=alias["order"], to=[alias["match"]], attributes_type="Delivery", lease="PT5M")
        for kind in ("PlannedStart", "PlannedWait"):
            page = self.call("makePlan", "sender", 200, "PlanPage", request, **self.sandbox)
            kinds = self.kinds_of(page.installations) if page else []
            self.check(kinds == [kind], f"steps of a plan as {kinds}")
            if kind == "PlannedStart" and page:
                lease = self.caller.plain(page)["installations"][0]["leaseId"]
        self.call("releaseLease", "sender", 204, **self.sandbox, lease_id=lease)

    def broadcast(self):
        """A channel."""
        match = {**self.sandbox, "kind": "matchId", "value": "match-7"}
        policy = self.enum("MessageStoragePolicy", 1)
        channel = self.make("Channel", channel_id="dHN0LXNyY2gtY2hubA==", message_storage_policy=policy)
        self.call("putChannel", "sender", 201, "AliasChannel", channel, **match)
        read = self.call("getChannel", "sender", 200, "AliasChannel", **match)
        self.check(read and read.message_storage_policy == policy, "the channel's policy")
        self.call("deleteChannel", "sender", 204, **match)
        self.call("getChannel", "sender", 404, "UnknownChannelProblem", code="channel-not-found", **match)

    def look_into(self):
        """The audit, and the calls about the service."""
        self.call("getStatistics", "admin", 200, "Statistics", **self.sandbox, window="P1D")
        page = self.call("listAuditEvents", "admin", 200, "AuditEventPage", **self.sandbox, activity_id="a-1")
        self.check(page and len(page.events) >= 2, "the events of an activity")
        self.call("explainAlias", "admin", 200, "Explanation", **self.sandbox, kind="matchId", value="match-9")
        kind = "device"
        self.call("listStaleTokens", "admin", 200, "StalePage", **self.sandbox, kind=kind, unconfirmed_for="PT1S")
        self.call("listStaleTokens", "admin", 422, "InvalidPageProblem", code="invalid-cursor", **self.sandbox, cursor="none")
        # No device token is unconfirmed for ten years.
        for dry, answer in ((True, "PurgeCounts"), (False, "PurgeResponse")):
            body = self.make("PurgeRequest", kind=kind, unconfirmed_for="P3660D", dry_run=dry)
            self.call("purgeStaleTokens", "admin", 200, answer, body, **self.sandbox)
        self.call("getLiveness", None, 200, "Liveness")
        ready = self.call("getReadiness", "root", 200, "Readiness", verbose="")
        self.check(ready and self.caller.plain(ready)["checks"]["schema"]["version"] >= 1, "readiness as text")
        self.call("getMetrics", "root", 200, "str")
        self.call("getOpenAPI", None, 200, "OpenAPIDescription")

    def end(self):
        """Deletes tokens and activities, then all their data, and the app."""
        self.call("deleteStartToken", "client", 204, **{**self.phone, "attributes_type": "Delivery"})
        self.call("deleteDeviceToken", "client", 204, **self.phone)
        widget = "widget"
        self.call("deleteTokenOfKind", "client", 204, **self.phone, token_kind=widget)
        self.call("endActivitiesByAlias", "sender", 200, "EndedCount", **self.sandbox, kind="matchId", value="match-9")
        self.call("logOutInstallation", "client", 204, **self.phone)
        alias = self.make("Alias", kind="matchId", value="match-9")
        for body in (self.make("AliasErasure", alias=alias), self.make("InstallationErasure", installation_id="phone-1"),
                     self.make("SubjectErasure", subject="u-1")):
            body = self.caller.one_of("ErasureRequest", body)
            self.call("erase", "admin", 200, "ErasureCounts", body, **self.sandbox)
        listed = self.call("listKeys", "admin", 200, "KeyList", **self.app)
        for key in listed.keys if listed else []:
            if key.name == "client":
                self.call("revokeKey", "admin", 204, key_id=key.id, **self.app)
        self.call("deleteApp", "root", 204, **self.app)
        self.call("getApp", "root", 404, "UnknownAppProblem", code="unknown-app", **self.app)


def main():
    generator, directory, url, document = sys.argv[1:]
    life = Life(KINDS[generator](directory, url), os.environ["PUSHREG_ROOT_KEY"], f"com.example.{generator}")
    life.live()
    with open(document, encoding="utf-8") as file:
        paths = json.load(file)["paths"]
    operations = {operation["operationId"] for path in paths.values() for operation in path.values()}
    for name in sorted(operations - life.operations):
        life.check(False, f"{name}: the life does not call it")
    print(f"{generator}: {life.calls} calls, {len(life.wrong)} wrong")
    return 1 if life.wrong else 0


sys.exit(main())
