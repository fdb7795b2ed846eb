import { expect, test } from "vitest";
import { backoffDelay, FakeClock, retry } from "./index.ts";

test("delays grow by the factor up to the longest", () => {
  const delays = (options: Parameters<typeof backoffDelay>[1]) =>
    [0, 1, 2, 3, 4, 2_000].map((failures) => backoffDelay(failures, options));
  expect(delays({ first: 100, longest: 350 })).toEqual([0, 100, 200, 350, 350, 350]);
  expect(delays({ first: 100, longest: 1_000, factor: 3 })).toEqual([0, 100, 300, 900, 1_000, 1_000]);
  expect(backoffDelay(2, { first: 100, longest: 150, jitter: 0.5, random: () => 0.5 })).toBe(188);
});

test("work is retried with growing pauses until it succeeds", async () => {
  const clock = new FakeClock();
  const at: number[] = [];
  const outcome = retry({ clock, first: 10, tries: 3 }, async (attempt) => {
    at.push(clock.monotonic());
    if (attempt < 3) throw new Error("not yet");
    return "done";
  });
  await clock.advance(10);
  await clock.advance(20);
  expect(await outcome).toBe("done");
  expect(at).toEqual([0, 10, 30]);
});

test("the last failure, and one that no retry can help, is the caller's", async () => {
  const clock = new FakeClock();
  const fail = () => Promise.reject(new Error("no"));
  await expect(retry({ clock, first: 10, tries: 1 }, fail)).rejects.toThrow("no");
  await expect(retry({ clock, first: 10, isRetryable: () => false }, fail)).rejects.toThrow("no");
});

test("a signal ends the pause", async () => {
  const end = new AbortController();
  const outcome = retry({ clock: new FakeClock(), first: 10, signal: end.signal }, () =>
    Promise.reject(new Error("no")),
  );
  end.abort(new Error("stop"));
  await expect(outcome).rejects.toThrow("stop");
});
