import { beforeEach, expect, test } from "vitest";
import { FakeClock, silentLog, SlipwayError } from "#lib/base/index.ts";
import { ApiError, type KubeObject, Lease } from "#kernel/model/index.ts";
import type { ApiClient } from "../client/api-client.ts";
import { memoryClient, chaosClient } from "../testing/index.ts";
import { alwaysLeader } from "./election.ts";
import { leaseElection } from "./lease-election.ts";

let clock: FakeClock;
let client: ApiClient;

beforeEach(() => {
  clock = new FakeClock();
  client = memoryClient({ clock });
});

const candidate = (identity: string, through: ApiClient = client, on: FakeClock = clock, random = () => 0) =>
  leaseElection({
    client: through,
    clock: on,
    log: silentLog,
    random,
    namespace: "slipway-system",
    name: "controllers",
    identity,
  });

const ref = { type: Lease, namespace: "slipway-system", name: "controllers" };
const lease = async () => (await client.get<KubeObject & { spec: Record<string, unknown> }>(ref)).spec;
const never = new AbortController().signal;

/** Notes in `leaders` who leads, in order. */
async function compete(leaders: string[], identity: string, through?: ApiClient, on?: FakeClock) {
  const leadership = await candidate(identity, through, on).acquire(never);
  leaders.push(identity);
  return leadership;
}

test("the first candidate leads and writes who it is and since when", async () => {
  const leadership = await candidate("a").acquire(never);
  expect(await lease()).toEqual({
    holderIdentity: "a",
    leaseDurationSeconds: 15,
    acquireTime: "2026-01-01T00:00:00.000000Z",
    renewTime: "2026-01-01T00:00:00.000000Z",
    leaseTransitions: 0,
  });
  await clock.advance(4000);
  expect(await lease()).toMatchObject({
    renewTime: "2026-01-01T00:00:04.000000Z",
    acquireTime: "2026-01-01T00:00:00.000000Z",
  });
  expect(leadership.lost.aborted).toBe(false);
  await leadership.release();
});

test("a second candidate waits while the first renews, and leads at once when that releases", async () => {
  const leaders: string[] = [];
  const first = await compete(leaders, "a");
  void compete(leaders, "b");
  await clock.advance(120_000);
  expect(leaders).toEqual(["a"]);
  await first.release();
  expect(await lease()).toMatchObject({ holderIdentity: "" });
  await clock.advance(2000);
  expect(leaders).toEqual(["a", "b"]);
  expect(await lease()).toMatchObject({ holderIdentity: "b" });
});

test("a leader that died is followed 15 seconds after its lease was last seen to change", async () => {
  const leaders: string[] = [];
  const dead = new FakeClock();
  await compete(leaders, "a", client, dead);
  await clock.advance(100_000);
  void compete(leaders, "b");
  await clock.advance(14_000);
  expect(leaders).toEqual(["a"]);
  await clock.advance(2000);
  expect(leaders).toEqual(["a", "b"]);
  expect(await lease()).toMatchObject({ leaseTransitions: 1 });
});

test("a leader that is killed right after a renewal is followed within 16 seconds, however long the pauses of the next one are", async () => {
  const leader = new FakeClock();
  await candidate("a", client, leader).acquire(never);
  let follower: string | undefined;
  const next = candidate("b", client, clock, () => 1).acquire(never);
  void next.then(() => (follower = "b"));
  for (let step = 0; step < 300; step++) {
    await clock.advance(100);
    await leader.advance(100);
  }
  // Its last renewal is made at 30 s; the other one looks by itself at 26.4 s, and next at 30.8 s.
  await clock.advance(14_900);
  expect(follower).toBeUndefined();
  await clock.advance(1_100);
  expect(follower).toBe("b");
});

test("a candidate that may not watch the lease looks at it by itself", async () => {
  const chaos = chaosClient(client, { clock, random: () => 0, faults: {} });
  const blind: ApiClient = Object.assign(chaos, {
    watch: () => {
      throw new ApiError("Forbidden", "cannot watch leases");
    },
  });
  const leaders: string[] = [];
  const first = await compete(leaders, "a");
  void compete(leaders, "b", blind);
  await clock.advance(60_000);
  expect(leaders).toEqual(["a"]);
  await first.release();
  await clock.advance(5_000);
  expect(leaders).toEqual(["a", "b"]);
});

test("clocks that are hours apart or set anew do not matter", async () => {
  const leaders: string[] = [];
  const ahead = new FakeClock(Date.UTC(2026, 0, 1, 5));
  const first = await compete(leaders, "a", client, ahead);
  void compete(leaders, "b");
  for (let second = 0; second < 60; second++) {
    await ahead.advance(1000);
    await clock.advance(1000);
    if (second === 20) clock.jump(Date.UTC(2026, 0, 1, 12));
    if (second === 40) ahead.jump(0);
  }
  expect(leaders).toEqual(["a"]);
  expect(first.lost.aborted).toBe(false);
});

test("a leader that cannot renew gives up after 10 seconds, before anybody else may lead", async () => {
  const chaos = chaosClient(client, { clock, random: () => 0, faults: {} });
  const leaders: string[] = [];
  const first = await compete(leaders, "a", chaos);
  void compete(leaders, "b");
  await clock.advance(1000);
  chaos.setFaults({ internal: 1 });
  await clock.advance(8000);
  expect(first.lost.aborted).toBe(false);
  await clock.advance(3000);
  expect(first.lost.aborted).toBe(true);
  expect(first.lost.reason).toBeInstanceOf(SlipwayError);
  expect(first.lost.reason).toMatchObject({ code: "leadership-lost", cause: expect.any(ApiError) });
  expect(leaders).toEqual(["a"]);
  await clock.advance(10_000);
  expect(leaders).toEqual(["a", "b"]);
  await first.release();
  expect(await lease()).toMatchObject({ holderIdentity: "b" });
});

test("a renewal that hangs counts as failed once the deadline is over", async () => {
  let isHanging = false;
  const hanging: ApiClient = {
    ...chaosClient(client, { clock, random: () => 0, faults: {} }),
    update: (type, object, options) =>
      isHanging
        ? new Promise((_resolve, reject) =>
            options?.signal?.addEventListener("abort", () => reject(options.signal?.reason as Error)),
          )
        : client.update(type, object, options),
  };
  const leadership = await candidate("a", hanging).acquire(never);
  isHanging = true;
  await clock.advance(9999);
  expect(leadership.lost.aborted).toBe(false);
  await clock.advance(2);
  expect(leadership.lost.aborted).toBe(true);
});

test("a leader whose lease was taken from it stops leading at its next renewal", async () => {
  const leadership = await candidate("a").acquire(never);
  const body = { spec: { holderIdentity: "thief", renewTime: "2026-01-01T00:00:01.000000Z" } };
  await client.patch(ref, { type: "merge", body });
  await clock.advance(4001);
  expect(leadership.lost.aborted).toBe(true);
  await leadership.release();
  expect(await lease()).toMatchObject({ holderIdentity: "thief" });
});

test("somebody writing a label into the lease does not end leadership", async () => {
  const leadership = await candidate("a").acquire(never);
  await client.patch(ref, { type: "merge", body: { metadata: { labels: { seen: "yes" } } } });
  await clock.advance(60_000);
  expect(leadership.lost.aborted).toBe(false);
  expect(await lease()).toMatchObject({ holderIdentity: "a" });
});

test("of many candidates exactly one leads at any time, whatever the server does", async () => {
  let leading = 0;
  let gained = 0;
  const chaos = chaosClient(client, {
    clock,
    random: (() => {
      let state = 7;
      return () => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647;
    })(),
    faults: { internal: 0.3, conflict: 0.2, lostAnswer: 0.2, latency: 0.5 },
    maxLatency: 1500,
  });
  const stop = new AbortController();
  const run = async (identity: string): Promise<void> => {
    while (!stop.signal.aborted) {
      const leadership = await candidate(identity, chaos).acquire(stop.signal);
      expect(++leading).toBe(1);
      gained++;
      await new Promise<void>((resolve) => {
        leadership.lost.addEventListener("abort", () => resolve());
        clock.after(30_000, resolve);
      });
      leading--;
      await leadership.release();
    }
  };
  const all = ["a", "b", "c"].map((identity) => run(identity));
  const failures: unknown[] = [];
  for (const each of all) each.catch((thrown: unknown) => failures.push(thrown));
  await clock.advance(600_000);
  expect(failures).toEqual([]);
  expect(gained).toBeGreaterThan(3);
  stop.abort(new Error("done"));
  await clock.advance(60_000);
});

test("waiting for leadership ends with the signal's reason", async () => {
  await candidate("a").acquire(never);
  const stop = new AbortController();
  const waiting = candidate("b").acquire(stop.signal);
  await clock.advance(5000);
  stop.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
});

test("the only process there is leads at once and never loses it", async () => {
  const leadership = await alwaysLeader.acquire(never);
  expect(leadership.lost.aborted).toBe(false);
  await leadership.release();
  await expect(alwaysLeader.acquire(AbortSignal.abort(new Error("stopped")))).rejects.toThrow("stopped");
});
