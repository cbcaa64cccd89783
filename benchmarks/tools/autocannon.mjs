// POST one body over and over with autocannon, over one connection.
//
// autocannon.mjs URL CALLS HEADERS BODY prints the p50 in microseconds and what went wrong. The
// report of autocannon itself counts whole milliseconds, so its times are taken one by one.

import autocannon from "autocannon";

const [url, calls, headers, body] = process.argv.slice(2);
const took = [];
const run = autocannon({
  url,
  body,
  method: "POST",
  headers: JSON.parse(headers),
  connections: 1,
  amount: Number(calls),
});
run.on("response", (_client, _status, _bytes, milliseconds) => took.push(milliseconds));
const { errors, non2xx } = await run;
took.sort((one, other) => one - other);
const p50 = 1000 * took[took.length >> 1];
console.log(`p50_us ${p50.toFixed(1)} calls ${took.length} failed ${errors + non2xx}`);
