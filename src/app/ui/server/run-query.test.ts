import { expect, test } from "vitest";
import type { RunSummary } from "../wire.ts";
import type { IndexedRun } from "./run-index.ts";
import { pageOf, readFilter } from "./run-query.ts";

const now = 1_000_000;

type Sample = readonly [name: string, phase: RunSummary["phase"], startedAt?: number, finishedAt?: number];

/** As the index has them: the newest first. */
const runs = (
  [
    ["running", "Running", now - 90_000],
    ["Beta", "Succeeded", now - 400_000, now - 100_000],
    ["waiting", "Pending"],
    ["alpha", "Failed", now - 600_000, now - 590_000],
    ["gamma", "Succeeded", now - 900_000, now - 600_000],
  ] satisfies readonly Sample[]
).map(([name, phase, startedAt, finishedAt], index): IndexedRun => {
  const ref = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", namespace: "default", name };
  const times = {
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(finishedAt === undefined ? {} : { finishedAt }),
  };
  return {
    key: `workflow Workflow default/${name}`,
    type: { group: "slipway.dev", version: "v1alpha1", kind: "Workflow", plural: "workflows", namespaced: true },
    namespace: "default",
    resourceVersion: "1",
    change: index,
    summary: {
      ref,
      dialect: "workflow",
      name,
      phase,
      nativePhase: phase,
      done: 0,
      total: 1,
      createdAt: now - index * 1000,
      ...times,
      actions: [],
    },
    labels: {},
    text: name.toLowerCase(),
    waiting: [],
    current: undefined,
  };
});

const list = (words: string, at = now) => {
  const query = new URLSearchParams(words);
  return pageOf(
    runs,
    readFilter(query, () => true, { now: () => at }),
    query,
    at,
  );
};
const names = (words: string, at = now): readonly string[] => list(words, at).items.map(({ name }) => name);

test("a list is sorted by age, duration, name or phase, either way", () => {
  expect(names("")).toEqual(["running", "Beta", "waiting", "alpha", "gamma"]);
  expect(names("sort=-age")).toEqual(["gamma", "alpha", "waiting", "Beta", "running"]);
  expect(names("sort=name")).toEqual(["alpha", "Beta", "gamma", "running", "waiting"]);
  expect(names("sort=-duration")).toEqual(["Beta", "gamma", "running", "alpha", "waiting"]);
  expect(names("sort=phase")).toEqual(["alpha", "running", "waiting", "Beta", "gamma"]);
});

test.each(["age", "-age", "duration", "-duration", "name", "-name", "phase", "-phase"])(
  "pages sorted by %s have each run once, though durations grow meanwhile",
  (sort) => {
    const seen: string[] = [];
    let token: string | undefined = "";
    for (let at = now; token !== undefined; at += 250_000) {
      const page = list(`sort=${sort}&limit=2&continue=${token}`, at);
      seen.push(...page.items.map(({ name }) => name));
      expect(page.total).toBe(5);
      token = page.continue;
    }
    expect(seen).toEqual(names(`sort=${sort}`));
  },
);

test("a duration is that so far of a run that has not ended, and none of one that has not started", () => {
  expect(names("longer=60000")).toEqual(["running", "Beta", "gamma"]);
  expect(names("longer=60000&shorter=300000")).toEqual(["running"]);
  expect(names("shorter=90000")).toEqual(["alpha"]);
  expect(names("longer=95000")).not.toContain("running");
  expect(names("longer=95000", now + 10_000)).toContain("running");
});

test.each([
  ["sort=color", "sort: expected age, duration, name, phase, or one after a minus sign"],
  ["longer=5m", /^longer: /],
  ["continue=x", "continue: not a token of this list"],
])("%s is refused", (words, message) => {
  expect(() => list(words)).toThrow(message);
});

test("a token of another order is refused", () => {
  const token = list("sort=name&limit=1").continue;
  expect(() => list(`sort=phase&continue=${token}`)).toThrow("continue: not a token of this list");
});
