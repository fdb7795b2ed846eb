import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type LogFields, type Logger, systemClock } from "#lib/base/index.ts";
import { Secret } from "#kernel/model/index.ts";
import { CertificateFolder } from "#test/support/certificates.ts";
import { tokenSecret } from "../server/identity.ts";
import { Place } from "../server/testing/place.ts";
import { describeMachine } from "./machine.ts";
import { openAgent } from "./open-agent.ts";
import type { AgentSettings } from "./agent-options.ts";

const closers: (() => Promise<void> | void)[] = [];
let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-open-agent-"));
  closers.push(() => rm(directory, { recursive: true, force: true }));
});
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const poll = <T>(read: () => T) => expect.poll(read, { interval: 5 });

async function serve(options: Parameters<typeof Place.start>[0]): Promise<Place> {
  const place = await Place.start(options);
  closers.push(() => place.close());
  return place;
}

/** An agent as a person starts it; what it logs. */
function begin(place: Place, more: Partial<AgentSettings>): readonly string[] {
  const lines: string[] = [];
  const write = (message: string, fields: LogFields = {}) => void lines.push(`${message} ${JSON.stringify(fields)}`);
  const log: Logger = { error: write, warn: write, info: write, debug: write, with: () => log };
  const stop = new AbortController();
  const ended = openAgent(
    {
      id: "agent-a",
      server: `127.0.0.1:${place.port}`,
      runtime: "host",
      directory: join(directory, "state"),
      pull: "never",
      isPrivileged: false,
      stopGrace: 0,
      killsOnExit: false,
      logLevel: "info",
      ...more,
    },
    {
      version: "1.2.3",
      runnerPath: "/nowhere",
      notes: [],
      variable: () => undefined,
      home: "/",
      clock: systemClock,
      log,
    },
    stop.signal,
  );
  closers.push(async () => {
    stop.abort(new Error("the test is over"));
    await ended;
  });
  return lines;
}

const isConnected = (place: Place) =>
  place.agentStatus("agent-a").then(
    (status) => status?.connected === true,
    () => false,
  );

/** A server with a certificate, and one of an agent. */
async function certificates() {
  const folder = await CertificateFolder.create();
  closers.push(() => folder.close());
  await folder.sign("server", "server");
  await folder.sign("client", "agent-a", "DNS:agent-a");
  const tls = { certificate: folder.file("server.crt"), key: folder.file("server.key") };
  const identity = { certificate: folder.file("client.crt"), key: folder.file("client.key") };
  return { ca: folder.file("ca.crt"), tls, identity };
}

test("an agent proves who it is by its certificate, and without one is not let in", async () => {
  const { ca, tls, identity } = await certificates();
  const place = await serve({ auth: { mode: "mtls" }, tls: { ...tls, clientCa: ca } });
  const lines = begin(place, { tls: { ca, isVerified: true } });
  await poll(() => lines.join("\n")).toContain("not connected to the server");
  expect(await isConnected(place)).toBe(false);
  begin(place, { tls: { ca, identity, isVerified: true }, directory: join(directory, "other") });
  await poll(() => isConnected(place)).toBe(true);
});

test("a server whose certificate nobody known has signed is not spoken to, unless that is asked for", async () => {
  const { ca: _ca, tls } = await certificates();
  const place = await serve({ tls });
  const lines = begin(place, { tls: { isVerified: true } });
  await poll(() => lines.join("\n")).toMatch(/not connected to the server .*cannot be reached: .*certificate/i);
  expect(await isConnected(place)).toBe(false);
  begin(place, { tls: { isVerified: false }, directory: join(directory, "other") });
  await poll(() => isConnected(place)).toBe(true);
});

test("an agent tells its program, its runtime and its machine, which people see at its object", async () => {
  const place = await serve({});
  begin(place, {});
  await poll(() => isConnected(place)).toBe(true);
  const { version, runtime, attributes } = (await place.agentStatus("agent-a")) ?? {};
  expect([version, runtime]).toEqual(["1.2.3", "host"]);
  expect(attributes).toEqual(await describeMachine());
  expect(attributes).toMatchObject({ cpu: { total_threads: cpus().length }, memory: { usable: expect.any(String) } });
});

test("an agent shows the token of its file, also one that was put there later", async () => {
  const place = await serve({ auth: { mode: "token", namespace: "default" } });
  const data = { [createHash("sha256").update("secret").digest("hex")]: btoa("agent-a") };
  const metadata = { name: tokenSecret, namespace: "default" };
  await place.store.create(Secret, { apiVersion: "v1", kind: "Secret", metadata, data });
  const tokenFile = join(directory, "token");
  await writeFile(tokenFile, "wrong\n");
  const lines = begin(place, { tokenFile });
  await poll(() => lines.join("\n")).toContain("not connected to the server");
  await writeFile(tokenFile, "secret\n");
  await poll(() => isConnected(place)).toBe(true);
});
