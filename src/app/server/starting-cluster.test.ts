import { beforeEach, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import { ApiError } from "#kernel/model/index.ts";
import { onceStarted } from "./starting-cluster.ts";

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
