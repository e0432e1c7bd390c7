-- Resolves of random aliases for wrk, as the bench's own load generator makes them: wrk -s resolve.lua URL -- COUNT
local threads = 0

function setup(thread)
    threads = threads + 1
    thread:set("number", threads)
end

function init(arguments)
    count = tonumber(arguments[1])
    math.randomseed(os.time() * 64 + number)
    wrk.headers["Authorization"] = "Bearer " .. os.getenv("BENCH_KEY")
end

function request()
    return wrk.format("GET", "/v1/apps/com.example.food/sandbox/aliases/orderId/o-" .. math.random(count) .. "/activities")
end

function done(summary)
    local errors = summary.errors
    local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
    print(string.format('{"requests": %d, "seconds": %f, "failed": %d}', summary.requests, summary.duration / 1e6, failed))
end
