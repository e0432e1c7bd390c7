// Shows the latest content of each alias on every phone. See the guide For senders for its input, requirements and behavior.
import { createPrivateKey, randomUUID, sign } from "node:crypto"
import { readFileSync } from "node:fs"
import { connect } from "node:http2"
import { createInterface } from "node:readline"

const env = process.env, works = new Map(), key = createPrivateKey(readFileSync(env.APNS_KEY))
// Only for tests, which play an hour in a minute. The registry keeps the real clock.
const speed = Number(env.CLOCK_SPEED ?? 1), start = Number(env.CLOCK_START ?? 0)
const clock = (moment) => start + ((moment ? Date.parse(moment) : Date.now()) / 1000 - start) * speed
const pass = (seconds) => new Promise((resolve) => setTimeout(resolve, (Math.max(0, seconds) * 1000) / speed))

let bearer, issued = -Infinity
/** One JWT for all pushes, for 45 minutes: APNs refuses another one within 20, and one that is older than an hour. */
function authorization() {
    if (clock() - issued <= 45 * 60) return bearer
    issued = clock()
    const parts = [{ alg: "ES256", kid: env.APNS_KEY_ID }, { iss: env.APNS_TEAM_ID, iat: Math.floor(issued) }]
    const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")
    const signature = sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" })
    return (bearer = `bearer ${text}.${signature.toString("base64url")}`)
}

let connection
/** APNs's answer, on the one connection; a new one is made when that was sent away (GOAWAY) or broke. */
function post(path, fields, body) {
    if (!connection || connection.closed || connection.destroyed) connection = connect(env.APNS).on("error", () => {})
    return new Promise((resolve, reject) => {
        let status, retryAfter, text = ""
        const session = connection // Closed if no response arrives; the next push opens another.
        const stream = session.request({ ":method": "POST", ":path": path, authorization: authorization(), ...fields })
        stream.on("response", (head) => { status = head[":status"]; retryAfter = head["retry-after"] })
        stream.on("data", (part) => { text += part }).on("error", reject)
        stream.setTimeout(20_000, () => { stream.close(8); session.close() })
        const answer = () => ({ status, retryAfter, body: JSON.parse(text || "{}") })
        stream.on("close", () => status ? resolve(answer()) : reject(new Error("no answer")))
        stream.end(body)
    })
}

/** The answer. After none, 408, 429 and 5xx the same goes out again, later and later, while it is wanted. */
async function again(request, isWanted = () => true) {
    for (let turn = 1; isWanted(); turn++) {
        const answer = await request().catch(() => undefined)
        if (answer && answer.status < 500 && ![408, 429].includes(answer.status)) return answer
        await pass(Math.max(Number(answer?.retryAfter) || 0, (0.5 + Math.random() / 2) * Math.min(2 ** turn, 60)))
    }
}

let plans = 0
const waiting = []
/** Makes three plans at a time. The registry permits a network four heavy calls at once, and the fourth is a report. */
async function inTurn(request) {
    if (++plans > 3) await new Promise((resolve) => waiting.push(resolve))
    return request().finally(() => { plans -= 1; waiting.shift()?.() })
}

async function call(method, path, json) {
    const headers = { Authorization: `Bearer ${env.SENDER_KEY}`, "Content-Type": "application/json" }
    const request = async () => {
        const signal = AbortSignal.timeout(60_000)
        const answer = await fetch(`${env.REGISTRY}/${path}`, { method, headers, body: json && JSON.stringify(json), signal })
        return { status: answer.status, retryAfter: answer.headers.get("retry-after"), body: await answer.json().catch(() => ({})) }
    }
    const answer = await again(path === "plan" ? () => inTurn(request) : request)
    if (![200, 204, 410].includes(answer.status)) throw new Error(answer.body.detail)
    return answer.body
}

const answers = []
let isTelling = false
/** Tells the registry each answer at once, with those that came while it was told the ones before. */
async function report(answer) {
    answers.push(answer)
    if (isTelling) return
    isTelling = true
    while (answers.length > 0) await call("POST", "feedback", { reports: answers.splice(0, 1000) })
    isTelling = false
}

/** Pushes to one phone, until APNs answers or something newer is to be pushed. */
async function push(entry, page, aps, work, wanted) {
    const { token, leaseId, collapseId } = entry
    // An offline phone gets it later. After its lease, a start could create a second activity.
    const until = clock(leaseId ? entry.leasedUntil : entry.expiresAt)
    const fields = { "apns-topic": page.topic, "apns-push-type": page.pushType, "apns-expiration": Math.floor(until),
        "apns-id": randomUUID(), "apns-priority": aps.event === "update" ? 5 : 10 }
    if (leaseId) fields["apns-collapse-id"] = collapseId
    const answer = await again(() => post(`/3/device/${token}`, fields, JSON.stringify({ aps })),
        () => clock() < until && (work.wanted === wanted || leaseId && work.wanted.event !== "end"))
    if (answer) await report({ token, leaseId, status: answer.status, ...answer.body }) // the reason, and the timestamp of a 410
    if (answer && entry.action === "end") await call("DELETE", `activities/${encodeURIComponent(entry.activityId)}`)
}

/** Pushes what is wanted of an alias to the phones that were not given it, whenever something is new. */
async function keep(work) {
    for (;;) {
        const { wanted, given } = work, { alias, attributesType, attributes } = wanted, planId = randomUUID()
        let isDue = false
        const due = new Promise((resolve) => { work.wake = () => resolve(isDue = true) })
        work.stamp = Math.max(Math.floor(clock()), work.stamp + 1) // whole seconds, each greater than the last
        const update = { timestamp: work.stamp, event: wanted.event, "content-state": wanted.contentState }
        const begin = { ...update, event: "start", "attributes-type": attributesType, attributes, alert: { title: alias.value } }
        const end = { ...update, event: "end", "dismissal-date": work.stamp } // of an activity that another one has replaced
        let next = Infinity, cursor = null
        while (cursor !== undefined) {
            const more = wanted.event === "update" ? { to: wanted.to, renewBefore: env.RENEW_BEFORE } : {}
            const page = await call("POST", "plan", { alias, attributesType, planId, cursor, ...more })
            const replaced = page.installations.flatMap(({ replaces }) => replaces ? [{ action: "update", ...replaces }] : [])
            for (const entry of [...page.installations, ...replaced]) { // none with channel: reached by the channels
                const { action, token, retryAt, leaseId } = entry, isNew = !given.has(action + token)
                if (retryAt) next = Math.min(next, clock(retryAt))
                // An end starts nothing, where a phone bears the alias itself.
                if (leaseId && wanted.event === "end") await call("DELETE", `plan/leases/${leaseId}`)
                else if (leaseId) push(entry, page, begin, work, wanted)
                if (action === "update" && isNew) push(entry, page, update, work, wanted)
                if (action === "end" && isNew) push(entry, page, end, work, wanted)
                given.add(action + token)
            }
            cursor = page.nextCursor
        }
        await Promise.race([due, pass(Math.min(3600, Math.max(1, next - clock())))])
        // An hour without a change. New content makes a new entry.
        if (wanted.event === "end" && next === Infinity && !isDue) return works.delete(work.names[0])
        await pass(work.stamp + 1 - clock()) // so that a timestamp is never ahead of the clock
    }
}

/** Has those aliases looked at again that a change names: a token has come, or another one. */
async function follow(after) {
    for (;;) {
        const page = await call("GET", `changes?after=${after}&wait=30`)
        after = page.after ?? (await call("GET", "changes")).after // from a new position after feed-expired and feed-reset
        const aliases = (page.changes ?? []).flatMap((change) => Object.entries(change.aliases ?? {}))
        const names = new Set(aliases.flatMap(([kind, values]) => values.map((value) => `${kind}:${value}`)))
        for (const work of works.values()) if (!page.after || work.names.some((name) => names.has(name))) work.wake()
    }
}

follow((await call("GET", "changes")).after) // from a position before the first plan
for await (const line of createInterface({ input: process.stdin })) {
    const wanted = JSON.parse(line), names = [wanted.alias, ...wanted.to].map(({ kind, value }) => `${kind}:${value}`)
    const isNew = !works.has(names[0]), work = works.get(names[0]) ?? { stamp: 0 }
    Object.assign(work, { wanted, names, given: new Set() })
    works.set(names[0], work)
    isNew ? keep(work) : work.wake()
}
