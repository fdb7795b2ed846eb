// Restate: its server keeps the log; handlers run in this process and are called over HTTP/2; each ctx.run is a journal entry.
import http from "node:http";
import http2 from "node:http2";
import { effect, fan, serve, steps } from "./_host.mjs";

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
  },
});
const handlers = http2.createServer(restate.createEndpointHandler({ services: [bench] }));
await new Promise((resolve) => handlers.listen(0, "127.0.0.1", resolve));

const agent = new http.Agent({ keepAlive: true, maxSockets: 1000 });
const post = (port, path, body) =>
  new Promise((resolve, reject) => {
    const text = JSON.stringify(body);
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
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
serve({ seq: call("seq"), fan: call("fan"), one: call("one") });
