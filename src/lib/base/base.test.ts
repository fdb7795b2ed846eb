import { expect, test } from "vitest";
import { FakeClock, formatAge, formatProblem, jsonEquals, parseDuration, parseInstant, sleep } from "./index.ts";
import { hashName } from "./index.node.ts";

test.each([
  ["1h30m", 5_400_000],
  ["1.5s", 1500],
  ["-2m", -120_000],
  ["0", 0],
])("the duration %s is %d ms", (text, expected) => {
  expect(parseDuration(text)).toEqual({ ok: true, value: expected });
});

test.each(["", "5", "1 week", "1h 2m", "h", "--1s"])("%j is no duration", (text) => {
  expect(parseDuration(text).ok).toBe(false);
});

test.each([
  [59, "59s"],
  [125, "2m5s"],
  [11_400, "3h10m"],
  [5 * 86_400 * 2, "10d"],
  [760 * 86_400, "2y30d"],
])("an age of %d seconds reads %s", (seconds, text) => {
  expect(formatAge(seconds * 1000)).toBe(text);
});

test("a fake clock runs timers in order of their time", async () => {
  const clock = new FakeClock(0);
  const seen: number[] = [];
  clock.after(20, () => seen.push(clock.now()));
  clock.after(10, () => seen.push(clock.now()));
  await clock.advance(15);
  expect(seen).toEqual([10]);
  await clock.advance(15);
  expect(seen).toEqual([10, 20]);
});

test("setting a fake clock moves neither its timers nor its monotonic time", async () => {
  const clock = new FakeClock(1_000_000);
  const seen: number[] = [];
  clock.after(20, () => seen.push(clock.now()));
  clock.jump(0);
  expect(clock.monotonic()).toBe(0);
  await clock.advance(25);
  expect(seen).toEqual([20]);
  expect(clock.monotonic()).toBe(25);
});

test("a sleep ends with the signal's reason when that aborts first", async () => {
  const clock = new FakeClock(0);
  const abort = new AbortController();
  const slept = sleep(clock, 1000, abort.signal);
  abort.abort(new Error("stop"));
  await expect(slept).rejects.toThrow("stop");
});

test("absent and undefined members are equal, null is not absent", () => {
  expect(jsonEquals({ a: 1, b: undefined }, { a: 1 })).toBe(true);
  expect(jsonEquals({ a: null }, {})).toBe(false);
  expect(jsonEquals([1, { a: 2 }], [1, { a: 2 }])).toBe(true);
  expect(jsonEquals({ a: 1 }, { a: 1, b: 2 })).toBe(false);
});

test("names hashed from different parts differ even when their texts join alike", () => {
  expect(hashName(["ab", "c"], 10)).not.toBe(hashName(["a", "bc"], 10));
  expect(hashName(["x"], 51)).toMatch(/^[a-z2-7]{51}$/);
});

test("a problem is one line with place, path, message and hint", () => {
  const position = { file: "w.yaml", line: 3, column: 5 };
  expect(
    formatProblem({ severity: "error", code: "x", path: "spec", message: "is missing", position, hint: "add it" }),
  ).toBe("w.yaml:3:5: error: spec: is missing (add it)");
});

test("an instant is read from RFC 3339 only", () => {
  expect(parseInstant("2026-01-01T00:00:00Z")).toBe(Date.UTC(2026, 0, 1));
  expect(parseInstant("2026-01-01")).toBeUndefined();
});
