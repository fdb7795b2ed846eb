import { createHash, X509Certificate } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "#lib/base/index.ts";
import { Refused } from "../failure.ts";
import { type ClientOptions, isUnreachable, RebarClient } from "./client.ts";
import { testCertificate } from "./testing/certificate.ts";
import { FakeServer } from "./testing/fake-server.ts";
import { withServer } from "./testing/agents.ts";

const { signal } = new AbortController();
const pinned = createHash("sha256").update(new X509Certificate(testCertificate).raw).digest("hex");

async function session(options: Partial<ClientOptions> = {}) {
  const server = new FakeServer({});
  const endpoint = await withServer(server);
  const usual = { endpoint, credentials: { token: "t" }, trust: { kind: "any" }, clock: systemClock } as const;
  const client = new RebarClient({ ...usual, ...options });
  onTestFinished(() => client.close());
  return { server, client };
}

test("a refusal carries the server's five members", async () => {
  const { client } = await session();
  const refused = await client.get(["tasks", "nope"], signal).catch((thrown: unknown) => thrown);
  expect(refused).toBeInstanceOf(Refused);
  expect((refused as Refused).body).toEqual({
    Model: "tasks",
    Key: "nope",
    Type: "Conflict",
    Messages: ["Not Found"],
    Code: 404,
  });
});

test("a pinned certificate is accepted, with requests and events; another one gets no request", async () => {
  const { client, server } = await session({ trust: { kind: "pinned", fingerprint: pinned.toUpperCase() } });
  expect(await client.get(["machines", server.machine], signal)).toMatchObject({ Name: "m1.example" });
  const events = await client.events(signal);
  await events.register("machines.*.*");
  events.close();
  const other = await session({ trust: { kind: "pinned", fingerprint: "0".repeat(64) } });
  const failure = await other.client.get(["info"], signal).catch((thrown: unknown) => thrown);
  expect(isUnreachable(failure)).toBe(true);
  expect(String(failure)).toContain(`expected the certificate ${"0".repeat(64)}, found ${pinned}`);
  expect(other.server.seen).toEqual([]);
});

test("an authority is verified", async () => {
  const { client, server } = await session({ trust: { kind: "authority", pem: testCertificate } });
  expect(await client.get(["machines", server.machine], signal)).toMatchObject({ Name: "m1.example" });
});

test("a user's password is exchanged for a token once", async () => {
  const { client, server } = await session({ credentials: { user: "anna", password: "s" } });
  await client.get(["machines", server.machine], signal);
  await client.get(["machines", server.machine], signal);
  expect(server.seen.map(({ what }) => what.split("?")[0])).toEqual([
    "GET users/anna/token",
    `GET machines/${server.machine}`,
    `GET machines/${server.machine}`,
  ]);
});

test("slashes and colons in keys stay as they are in the path", async () => {
  const { client, server } = await session();
  server.params.set("a/b c", 7);
  expect(await client.get(["machines", "Name:x", "params", "a/b c"], signal)).toBe(7);
});

test("a server that is not there is told apart from a refusal", async () => {
  const { client, server } = await session();
  await server.close();
  const failure = await client.get(["info"], signal).catch((thrown: unknown) => thrown);
  expect(isUnreachable(failure)).toBe(true);
  await server.listen(Number(new URL(client.endpoint).port));
});

test("an endpoint without TLS is refused", () => {
  const options = { credentials: { token: "t" }, trust: { kind: "any" }, clock: systemClock } as const;
  expect(() => new RebarClient({ endpoint: "http://127.0.0.1:8092", ...options })).toThrow(
    "expected https://HOST:PORT",
  );
});
