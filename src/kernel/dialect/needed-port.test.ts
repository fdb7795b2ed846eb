import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock, type Instant, type LogFields, silentLog, systemClock } from "#lib/base/index.ts";
import { Manager } from "#kernel/kit/index.ts";
import { memoryClient, seededRandom } from "#kernel/kit/testing/index.ts";
import { ConfigMap, Secret } from "#kernel/model/index.ts";
import type { DialectPort } from "./controller-parts.ts";
import { type NeededPort, openWhenNeeded } from "./needed-port.ts";
import { notedServers } from "#kernel/doors/index.ts";

let notes: string;
const stop = new AbortController();
const told: [string, LogFields | undefined][] = [];
const log = { ...silentLog, warn: (message: string, fields?: LogFields) => void told.push([message, fields]) };
const client = memoryClient({ types: [ConfigMap, Secret] });
const manager = new Manager({ client, clock: systemClock, log, random: seededRandom(1) });
let running: Promise<void> | undefined;
beforeEach(async () => {
  notes = await mkdtemp(join(tmpdir(), "slipway-needed-"));
});
afterEach(() => rm(notes, { recursive: true }));

test("a usual address is taken when the first object needs it, a named one at once; both are noted until the manager stops", async () => {
  const asked: string[] = [];
  const served: string[] = [];
  const open = async (serves: string, isUsual: boolean, more: Partial<NeededPort> = {}) => {
    const listen = { address: "127.0.0.1:0", isUsual };
    const needed = { serves, what: `the ${serves}`, flag: "--listen", listen, neededBy: [ConfigMap, Secret] };
    const parts = { notes: [notes], tellPort: ({ address }: { address: string }) => void served.push(address) };
    return await openWhenNeeded(manager, parts, { ...needed, tokenFile: "/token", ...more }, async (address) => {
      asked.push(`${serves} ${address}`);
      return { port: 4000 + asked.length };
    });
  };
  const later = await open("later", true);
  const now = await open("now", false, { anonymousFlag: "--anonymous" });
  expect(await now.opened).toEqual({ address: "127.0.0.1:4001", port: { port: 4001 } });
  expect(told).toEqual([
    [
      "the now: clients without credentials are let in: every user who can reach the port has access",
      { option: "--anonymous" },
    ],
  ]);
  running = manager.run(stop.signal);
  await manager.informers.synced(stop.signal);
  expect(asked).toEqual(["now 127.0.0.1:0"]);
  expect(await notedServers([notes])).toMatchObject([{ serves: "now", url: "http://127.0.0.1:4001" }]);
  const metadata = { name: "first", namespace: "default" };
  await client.create(ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata });
  expect((await later.opened).address).toBe("127.0.0.1:4002");
  expect(served).toEqual(["127.0.0.1:4001", "127.0.0.1:4002"]);
  expect(await notedServers([notes])).toContainEqual(
    expect.objectContaining({ serves: "later", url: "http://127.0.0.1:4002", tokenFile: "/token" }),
  );
  stop.abort();
  await running;
  expect(await notedServers([notes])).toEqual([]);
});

test("a port that cannot be opened when it is needed is tried again, ever more slowly, and the server says so meanwhile", async () => {
  const clock = new FakeClock();
  const objects = memoryClient({ types: [ConfigMap] });
  const place = new Manager({ client: objects, clock, log: silentLog, random: () => 0 });
  const reported: (string | undefined)[] = [];
  const tries: Instant[] = [];
  const listen = { address: "127.0.0.1:0", isUsual: true };
  const needed = { serves: "s", what: "the s", flag: "--listen", listen, neededBy: [ConfigMap], tokenFile: "/token" };
  const parts = { notes: [notes], tellPort: ({ trouble }: DialectPort) => void reported.push(trouble) };
  const begun = clock.now();
  const { opened } = await openWhenNeeded(place, parts, needed, async () => {
    tries.push(clock.now() - begun);
    if (tries.length < 9) throw new Error("too many open files");
    return { port: 4000 };
  });
  const over = new AbortController();
  const run = place.run(over.signal);
  await place.informers.synced(over.signal);
  const metadata = { name: "first", namespace: "default" };
  await objects.create(ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata });
  await expect.poll(() => reported).toEqual(["failed to open the port; retrying: too many open files"]);
  for (let at = 1; at < 9; at += 1) {
    await clock.pass(60_000);
    await expect.poll(() => tries.length).toBeGreaterThan(at);
  }
  expect((await opened).address).toBe("127.0.0.1:4000");
  expect(reported.at(-1)).toBeUndefined();
  expect(tries.slice(0, 4)).toEqual([0, 1000, 3000, 7000]);
  expect((tries[8] ?? 0) - (tries[7] ?? 0)).toBe(60_000);
  over.abort();
  await run;
});
