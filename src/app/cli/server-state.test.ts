import { expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { ApiError } from "#kernel/model/index.ts";
import { troublesOf, watchTroubles } from "./server-state.ts";

const full = "the store is read-only because its disk is full: ENOSPC";
let isFull = false;
const client = {
  raw: () =>
    isFull
      ? Promise.reject(new ApiError("InternalError", `[+]ping ok\n[-]store failed: ${full}\nreadyz check failed\n`))
      : Promise.resolve("ok"),
} as Partial<ApiClient> as ApiClient;

test("what is wrong with a control plane is what its failed checks say; one that cannot be asked says nothing", async () => {
  isFull = false;
  expect(await troublesOf(client)).toEqual([]);
  isFull = true;
  expect(await troublesOf(client)).toEqual([`store: ${full}`]);
  expect(await troublesOf({ ...client, raw: () => Promise.reject(new Error("away")) })).toEqual([]);
});

test("a trouble is told once each time it begins, until the signal aborts", async () => {
  isFull = false;
  const clock = new FakeClock();
  const told: string[] = [];
  const over = new AbortController();
  watchTroubles(client, clock, (sentence) => told.push(sentence), over.signal);
  await clock.pass(10_000);
  expect(told).toEqual([]);
  isFull = true;
  await clock.pass(10_000);
  expect(told).toEqual([`slipway: the control plane is degraded: store: ${full}`]);
  isFull = false;
  await clock.pass(10_000);
  isFull = true;
  await clock.pass(10_000);
  expect(told).toHaveLength(2);
  over.abort();
  isFull = false;
  await clock.pass(10_000);
  isFull = true;
  await clock.pass(10_000);
  expect(told).toHaveLength(2);
});
