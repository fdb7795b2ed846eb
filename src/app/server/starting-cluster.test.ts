import { beforeEach, expect, test, vi } from "vitest";
import { FakeClock, SlipwayError } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import { ApiError } from "#kernel/model/index.ts";
import { onceReachable, onceStarted } from "./starting-cluster.ts";

let clock: FakeClock;
let isReady: boolean;
let asked: number;
let client: ApiClient;
beforeEach(() => {
  clock = new FakeClock();
  isReady = false;
  asked = 0;
  const raw = () => (isReady ? Promise.resolve("ok") : Promise.reject(new ApiError("Forbidden", "cannot get /readyz")));
  client = Object.assign(memoryClient({ clock }), { raw });
});

const forbidden = new ApiError("Forbidden", "cannot list workflows");
/** Refuses until the server is ready and `isAllowed`. */
const ask = (isAllowed: boolean) =>
  onceStarted(client, clock, new AbortController().signal, () => {
    asked += 1;
    return isReady && isAllowed ? Promise.resolve("list") : Promise.reject(forbidden);
  });

test("a server that forbids everything while it starts is asked again, and answers when it is ready", async () => {
  const answer = ask(true);
  await clock.advance(5_000);
  isReady = true;
  await clock.advance(1_000);
  expect(await answer).toBe("list");
  expect(asked).toBe(7);
});

test("a server that is ready is believed at once", async () => {
  isReady = true;
  await expect(ask(false)).rejects.toBe(forbidden);
  expect(asked).toBe(1);
});

test("a server that does not become ready is believed after 30 seconds", async () => {
  const refused = expect(ask(true)).rejects.toBe(forbidden);
  await clock.advance(31_000);
  await refused;
  expect(asked).toBe(31);
});

test("any other refusal is no question of time", async () => {
  const gone = new ApiError("NotFound", "no such kind");
  await expect(onceStarted(client, clock, new AbortController().signal, () => Promise.reject(gone))).rejects.toBe(gone);
});

test("a server that is away is waited for, however long, and the log says so", async () => {
  const log = { warn: vi.fn() };
  let answer = (): Promise<string> => Promise.reject(new SlipwayError("connection-refused", "no server listens there"));
  const reached = onceReachable(Object.assign(client, { raw: () => answer() }), {
    clock,
    log,
    signal: new AbortController().signal,
  });
  await clock.advance(3_600_000);
  expect(log.warn).toHaveBeenCalledWith("waiting for the API server", { error: "no server listens there" });
  // A refusal is an answer.
  answer = () => Promise.reject(forbidden);
  await clock.advance(10_000);
  await reached;
});

test("a certificate that is not trusted is no question of time", async () => {
  const untrusted = new SlipwayError("certificate-untrusted", "signed by nobody");
  const raw = () => Promise.reject(untrusted);
  const parts = { clock, log: { warn: vi.fn() }, signal: new AbortController().signal };
  await expect(onceReachable(Object.assign(client, { raw }), parts)).rejects.toBe(untrusted);
});
