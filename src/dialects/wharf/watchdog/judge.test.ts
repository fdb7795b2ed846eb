import { describe, expect, test } from "vitest";
import { type ActiveBuild, isHeldBack, judge, type SeenWorker } from "./judge.ts";

const now = 10_000_000;
const old = now - 3_600_000;
const worker = (more: Partial<SeenWorker> = {}): SeenWorker => ({
  workerId: "w1",
  buildId: 1,
  isFinal: false,
  createdAt: old,
  ...more,
});
const build = (more: Partial<ActiveBuild> = {}): ActiveBuild => ({
  buildId: 1,
  workerId: "w1",
  isRunning: false,
  mayHaveWorker: false,
  scheduledOn: old,
  ...more,
});
/** Builds whose worker nobody has told of: one that was perhaps started, and one that has told of itself. */
const asked = build({ buildId: 2, workerId: "", mayHaveWorker: true });
const running = build({ buildId: 2, workerId: "", isRunning: true });
const strays = (workers: readonly SeenWorker[], builds: readonly ActiveBuild[] = []) =>
  judge(workers, builds, now).strays.map(({ workerId }) => workerId);
const missing = (builds: readonly ActiveBuild[], workers: readonly SeenWorker[] = []) =>
  judge(workers, builds, now).missing.map(({ build: { buildId }, reason }) => `${buildId} ${reason}`);

describe("a worker is a stray", () => {
  test.each<[string, string[], SeenWorker[], ActiveBuild[]]>([
    ["when its build is not active", ["w1"], [worker()], []],
    ["when other builds are", ["w1"], [worker()], [build({ buildId: 2, workerId: "w2" })]],
    ["not when its build is, under another worker", [], [worker()], [build({ workerId: "" })]],
    ["not when a build knows it by its id alone", [], [worker({ buildId: 0 })], [build()]],
    ["not when it is young", [], [worker({ createdAt: now - 59_999 })], []],
    ["when it is exactly old enough", ["w1"], [worker({ createdAt: now - 60_000 })], []],
    ["not when it comes from the future", [], [worker({ createdAt: now + 600_000 })], []],
    ["also when it has ended", ["w1"], [worker({ isFinal: true, finishedAt: now })], []],
    ["also without a build", ["w1"], [worker({ buildId: 0 })], []],
    ["not without a build while one may have a worker", [], [worker({ buildId: 0 })], [asked]],
    ["nor while one runs that knows none", [], [worker({ buildId: 0 })], [running]],
    ["but when none does", ["w1"], [worker({ buildId: 0 })], [build({ buildId: 2, workerId: "w2", isRunning: true })]],
    ["and when it has another build than the one that may have a worker", ["w1"], [worker({ buildId: 3 })], [asked]],
  ])("%s", (_, expected, workers, builds) => {
    expect(strays(workers, builds)).toEqual(expected);
  });
});

describe("a build has lost its worker", () => {
  test.each<[string, string[], ActiveBuild[], SeenWorker[]]>([
    ["when there is none", ["1 WorkerLost"], [build()], []],
    ["which it never had", ["1 WorkerNeverStarted"], [build({ workerId: "" })], []],
    ["not when there is one of its id", [], [build()], [worker({ buildId: 0 })]],
    ["not when there is one of its number", [], [build({ workerId: "" })], [worker()]],
    ["not while it may have one", [], [asked], []],
    ["when it runs and nobody is left", ["2 WorkerLost"], [running], []],
    ["not when it runs and is perhaps what somebody runs", [], [running], [worker({ buildId: 0 })]],
    ["when it runs and others have all workers", ["2 WorkerLost"], [running, build()], [worker({ buildId: 0 })]],
    ["when all workers are others'", ["1 WorkerNeverStarted"], [build({ workerId: "" })], [worker({ buildId: 2 })]],
    ["not when it is young", [], [build({ scheduledOn: now - 59_999 })], []],
    ["when it is exactly old enough", ["1 WorkerLost"], [build({ scheduledOn: now - 60_000 })], []],
    ["not when it comes from the future", [], [build({ scheduledOn: now + 1 })], []],
    ["not while its worker drains", [], [build()], [worker({ isFinal: true, finishedAt: now - 599_999 })]],
    [
      "when its worker has drained",
      ["1 WorkerLost"],
      [build()],
      [worker({ isFinal: true, finishedAt: now - 600_000 })],
    ],
    ["when its worker ended nobody knows when, long ago", ["1 WorkerLost"], [build()], [worker({ isFinal: true })]],
  ])("%s", (_, expected, builds, workers) => {
    expect(missing(builds, workers)).toEqual(expected);
  });
});

test("what would fail most builds is held back until it is seen again", () => {
  const ids = (count: number) => Array.from({ length: count }, (_, at) => at);
  expect(isHeldBack(ids(10), 10, undefined)).toBe(false);
  expect(isHeldBack(ids(11), 22, undefined)).toBe(false);
  expect(isHeldBack(ids(11), 21, undefined)).toBe(true);
  expect(isHeldBack(ids(20), 20, new Set(ids(20)))).toBe(false);
  expect(isHeldBack(ids(20), 20, new Set(ids(21)))).toBe(true);
  expect(isHeldBack(ids(20), 20, new Set(ids(19)))).toBe(true);
});
