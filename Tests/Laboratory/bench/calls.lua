-- The calls of the bench, for wrk: wrk -s calls.lua URL -- KIND NAME=VALUE…
-- BENCH_KEY is the API key. Each thread of wrk has its own state; `number` counts threads from 0.
local ffi = require("ffi")
ffi.cdef [[
    struct moment { long seconds, nanoseconds; };
    int clock_gettime(int clock, struct moment *moment);
    int getpid(void);
    int kill(int process, int signal);
]]

local app = "/v1/apps/com.example.food/sandbox"
local random = math.random
local moment = ffi.new("struct moment")
local all = {}

function setup(thread)
    thread:set("number", #all)
    table.insert(all, thread)
end

local function clock(id)
    ffi.C.clock_gettime(id, moment)
    return tonumber(moment.seconds), tonumber(moment.nanoseconds)
end

local function monotonic()
    local seconds, nanoseconds = clock(1)
    return seconds + nanoseconds / 1e9
end

local function now()
    local seconds, nanoseconds = clock(0)
    return os.date("!%Y-%m-%dT%H:%M:%S", seconds) .. string.format(".%03dZ", nanoseconds / 1e6)
end

local tail = string.rep("cd", 68)
local function token() return string.format("%012x%012x", random(0, 2^48 - 1), random(0, 2^48 - 1)) .. tail end

-- The token of an activity in seed.sql.
local seeded = string.rep("ab", 72)
local function seededToken(activity) return string.format("%016x", activity) .. seeded end

-- Numbers that are unique over threads and calls.
local turn = 0
local function fresh()
    turn = turn + 1
    return (turn - 1) * option.threads + number + 1
end

-- Uses all names or installations in turns, so that concurrent calls use different ones.
local function thing() return fresh() % option.count end

local function call(method, path, body)
    local fields = body and "\r\nContent-Type: application/json\r\nContent-Length: " .. #body or ""
    return method .. " " .. path .. " HTTP/1.1\r\nHost: " .. host .. "\r\nAuthorization: Bearer " .. key .. fields
        .. "\r\n\r\n" .. (body or "")
end

local function list(size, item)
    local items = {}
    for index = 1, size do items[index] = item(index) end
    return table.concat(items, ",")
end

local function registration(activity)
    return call("PUT", app .. "/activities/a-" .. activity, string.format(
        '{"token":"%s","observedAt":"%s","aliases":{"orderId":"o-%d"}}', token(), now(), activity))
end

local kinds = {}

function kinds.hello() return call("GET", "/livez") end

function kinds.resolve() return call("GET", app .. "/aliases/orderId/o-" .. random(option.count) .. "/activities") end

function kinds.register() return registration(random(option.count)) end

function kinds.new() return registration(option.count + fresh()) end

function kinds.batch()
    return call("POST", app .. "/resolve", '{"aliases":[' .. list(option.size, function()
        return '{"kind":"orderId","value":"o-' .. random(option.count) .. '"}'
    end) .. "]}")
end

-- Concurrent reports have different tokens.
function kinds.feedback()
    local part, parts = fresh() % 64, 64
    local timestamp = clock(0) * 1000
    return call("POST", app .. "/feedback", '{"reports":[' .. list(option.size, function()
        return string.format('{"token":"%s","status":410,"reason":"Unregistered","timestamp":%d}',
            seededToken(1 + part + parts * random(0, math.floor(option.count / parts) - 1)), timestamp)
    end) .. "]}")
end

-- By a token and a name only.
function kinds.short()
    return call("POST", app .. "/activities", string.format(
        '{"token":"%s","observedAt":"%s","alias":"l-%d"}', token(), now(), thing()))
end

-- The push-to-start token of an installation.
function kinds.start()
    return call("PUT", app .. "/installations/start-" .. thing() .. "/start-tokens/RideAttributes", string.format(
        '{"token":"%s","observedAt":"%s"}', token(), now()))
end

-- All activities of an installation, each with a new token.
function kinds.full()
    local installation = option.size .. "-" .. thing()
    return call("PUT", app .. "/installations/full-" .. installation .. "/activities", '{"observedAt":"' .. now()
        .. '","activities":[' .. list(option.size, function(index)
            local id = "f" .. installation .. "-" .. index
            return string.format('{"activityId":"%s","token":"%s","aliases":{"orderId":"%s"}}', id, token(), id)
        end) .. "]}")
end

-- By users' JWTs, one per line with the user's number, because a user registers only own activities.
local line = 0
function kinds.jwt()
    line = line % #jwts + 1
    key = jwts[line].text
    local rest = jwts[line].user
    return registration(rest + option.users * random(rest == 0 and 1 or 0, math.floor(option.count / option.users) - 1))
end

-- Activities from start to end: each rotates five times, is ended or left to expire, and is replaced by a new one. Steps
-- below zero have no activity yet, so the first activities start at different times.
local rotations, at = 5, 0
function kinds.life()
    at = at % #places + 1
    local place = places[at]
    local isOver = place.step == rotations
    if isOver and place.activity % 2 == 0 then
        place.step = -1
        return call("DELETE", app .. "/activities/a-" .. place.activity)
    elseif isOver or place.step < 0 then
        place.activity, place.step = option.first + fresh(), isOver and 0 or -1 - place.step
    else
        place.step = place.step + 1
    end
    return registration(place.activity)
end

function init(arguments)
    option = { threads = 1, count = 1000000, size = 100, users = 64, first = 0, open = 10000 }
    for index = 2, #arguments do
        local name, value = arguments[index]:match("(.-)=(.*)")
        option[name] = tonumber(value) or value
    end
    host, key = wrk.headers["Host"], os.getenv("BENCH_KEY")
    math.randomseed(os.time() * 64 + number)
    problems, jwts, places = 0, {}, {}
    if option.jwts then
        local index = 0
        for text in io.lines(option.jwts) do
            local user, signed = text:match("(%d+) (.*)")
            if index % option.threads == number then table.insert(jwts, { user = tonumber(user), text = signed }) end
            index = index + 1
        end
    end
    for index = 1, math.ceil(option.open / option.threads) do places[index] = { step = -1 - index % (rotations + 1) } end

    local make, made = kinds[arguments[1]], 0
    local limit = option.requests and math.ceil(option.requests / option.threads)
    function request()
        made = made + 1
        -- wrk ends when it is interrupted.
        if made == limit then ffi.C.kill(ffi.C.getpid(), 2) end
        return make()
    end
    if option.rate then
        -- A late call is sent immediately.
        local due, interval = monotonic(), option.threads / option.rate
        function delay()
            due = due + interval
            return math.max(0, math.floor((due - monotonic()) * 1000))
        end
    end
    if arguments[1] == "full" then
        -- Refused items have errors in their positions.
        function response(_, _, body)
            if body:find('"problem"', 1, true) then problems = problems + 1 end
        end
    end
end

function done(summary, latency)
    local errors = summary.errors
    local refused = errors.status
    for _, thread in ipairs(all) do refused = refused + thread:get("problems") end
    print(string.format(
        '{"answers": %d, "seconds": %f, "refused": %d, "broken": %d, "p50": %d, "p99": %d}',
        summary.requests, summary.duration / 1e6, refused, errors.connect + errors.read + errors.write + errors.timeout,
        latency:percentile(50), latency:percentile(99)))
end
