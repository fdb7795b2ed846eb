import { readFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  endRunner,
  removeDirectory,
  slipway,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";

// A browser's way in: a code from the command line becomes a cookie. Here the browser is a bare request.

let directory: string;
let server: TestServer;
let ca: string;
beforeAll(async () => {
  directory = await temporaryDirectory();
  server = await startServer(join(directory, "data"));
  ca = await readFile(join(server.directory, "pki/ca.crt"), "utf8");
});
afterAll(async () => {
  await server.stop();
  await endRunner(server.directory);
  await removeDirectory(directory);
});

const cli = (...args: string[]) => slipway(args, { env: { SLIPWAY_DATA_DIR: server.directory } });

function ask(method: string, url: string, headers: Readonly<Record<string, string>>, body?: string) {
  return new Promise<{ readonly status: number; readonly cookie: string; readonly body: string }>((resolve, reject) => {
    const sent = request(url, { method, ca, headers: { "X-Slipway-Request": "1", ...headers }, agent: false });
    sent.once("error", reject).once("response", (response) => {
      const cookie = response.headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
      text(response).then((body) => resolve({ status: response.statusCode ?? 0, cookie, body }), reject);
    });
    sent.end(body);
  });
}

test("slipway ui prints a code that opens one session, and neither is ever written down", async () => {
  const { code, out, err } = await cli("ui", "-o", "json");
  expect(code, err).toBe(0);
  const printed = JSON.parse(out) as { readonly code: string; readonly url: string; readonly until: string };
  expect(printed.url).toBe(`${server.url}/slipway/session`);
  const json = { "Content-Type": "application/json" };
  const login = await ask("POST", printed.url, json, JSON.stringify({ code: printed.code }));
  expect(login.status, login.body).toBe(201);
  expect((await ask("POST", printed.url, json, JSON.stringify({ code: printed.code }))).status).toBe(401);
  const { key } = JSON.parse(login.body) as { readonly key: string };
  const session = { Cookie: login.cookie, "X-Slipway-Request": key };
  expect((await ask("GET", printed.url, { Cookie: login.cookie })).status).toBe(401);
  const who = await ask("GET", printed.url, session);
  expect(JSON.parse(who.body)).toMatchObject({ user: "slipway:admin" });
  expect((await ask("GET", `${server.url}/api/v1/pods`, session)).status).toBe(401);
  expect((await ask("DELETE", printed.url, session)).status).toBe(200);
  expect((await ask("GET", printed.url, session)).status).toBe(401);
  await server.stop();
  const audit = await readFile(join(server.directory, "audit/audit.jsonl"), "utf8");
  expect(audit).toContain('"path":"/slipway/session"');
  for (const secret of [printed.code, key, login.cookie.split("=")[1] ?? ""]) {
    expect(secret.length).toBeGreaterThan(40);
    expect(`${audit}${server.log()}`).not.toContain(secret);
  }
});

test("people get one line that is a link, which holds the code where browsers send it to nobody", async () => {
  server = await startServer(server.directory);
  const { out, err } = await cli("ui");
  expect(out).toMatch(new RegExp(`^${server.url}/slipway/#code=[\\w-]{43}\n$`));
  expect(err).toContain("it logs in once, until");
});
