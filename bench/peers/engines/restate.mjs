// Restate: its server keeps the log; handlers run in this process and are called over HTTP/2; each ctx.run is a journal entry.
import http from "node:http";
import http2 from "node:http2";
import { effect, fan, lastingEffect, namesOf, serve, steps } from "./_host.mjs";

// The SDK counts on a function that Node.js 20 does not have.
Promise.withResolvers ??= function withResolvers() {
  let resolve;
  let reject;
  const promise = new this((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
};
const restate = await import("@restatedev/restate-sdk");

const ingress = Number(process.env.SERVICE_PORT);
const bench = restate.service({
  name: "bench",
  handlers: {
    seq: async (ctx) => {
      for (let index = 0; index < steps; index++) await ctx.run(`s${index}`, effect);
    },
    fan: async (ctx) => {
      await restate.RestatePromise.all(Array.from({ length: fan }, (_, index) => ctx.run(`f${index}`, effect)));
    },
    one: async (ctx) => {
      await ctx.run("s", effect);
    },
    many: async (ctx, { run, count }) => {
      for (let index = 0; index < count; index++) await ctx.run(`s${index}`, () => lastingEffect(run, index));
    },
  },
});
const handlers = http2.createServer(restate.createEndpointHandler({ services: [bench] }));
await new Promise((resolve) => handlers.listen(Number(process.env.OWN_PORT ?? 0), "127.0.0.1", resolve));

const agent = new http.Agent({ keepAlive: true, maxSockets: 1000 });
const post = (port, path, body, more = {}) =>
  new Promise((resolve, reject) => {
    const text = JSON.stringify(body);
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(text), ...more };
    const request = http.request({ host: "127.0.0.1", port, path, method: "POST", agent, headers }, (response) => {
      let answer = "";
      response.on("data", (part) => (answer += part));
      response.on("end", () =>
        response.statusCode < 300 ? resolve(answer) : reject(new Error(`${response.statusCode} ${answer}`)),
      );
    });
    request.on("error", reject);
    request.end(text);
  });

await post(ingress + 1, "/deployments", { uri: `http://127.0.0.1:${handlers.address().port}`, force: true });
const call = (handler) => (id) => post(ingress, `/bench/${handler}`, id);
/** A second call with the same key starts nothing and is answered when the first has ended. */
const invoke = (path, run, count) => post(ingress, path, { run, count }, { "idempotency-key": run });
serve(
  { seq: call("seq"), fan: call("fan"), one: call("one") },
  {
    startMany: (options) =>
      Promise.all(namesOf(options).map((run) => invoke("/bench/many/send", run, options.steps))).then(() => undefined),
    waitMany: (options) =>
      Promise.all(namesOf(options).map((run) => invoke("/bench/many", run, options.steps))).then(() => undefined),
    stop: () => undefined,
  },
);
