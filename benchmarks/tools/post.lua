-- For wrk: POST one body over and over, then print the p50 in microseconds and what went wrong.
-- Use: wrk -H 'Name: value' … -s post.lua URL -- BODY

function init(args)
  wrk.method = "POST"
  wrk.body = args[1]
end

function done(summary, latency, requests)
  local errors = summary.errors
  local lost = errors.connect + errors.read + errors.write + errors.timeout
  print(string.format("p50_us %.1f calls %d failed %d", latency:percentile(50), summary.requests,
    lost + errors.status))
end
