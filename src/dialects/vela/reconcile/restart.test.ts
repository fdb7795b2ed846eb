import { expect, test } from "vitest";
import { decideRestart, readRestart } from "./restart.ts";

const now = Date.parse("2030-01-01T00:00:00Z");
const finished = { annotation: undefined, scheduledAt: undefined, isFinished: true, endedAt: now - 60_000 };

test.each([
  ["true", { kind: "at", at: now }],
  ["2030-01-01T01:00:00Z", { kind: "at", at: now + 3_600_000 }],
  ["5m", { kind: "every", every: 300_000 }],
  ["1d", { kind: "every", every: 86_400_000 }],
])("17.9 the annotation %j is read", (text, request) => {
  expect(readRestart(text, now)).toEqual(request);
});

test.each(["yes", "0s", "-5m", "2030-13-01T00:00:00Z", "tomorrow", "false"])(
  "the annotation %j is not read",
  (text) => {
    expect(readRestart(text, now)).toBeUndefined();
    expect(decideRestart({ ...finished, annotation: text }, now)).toEqual({
      restarts: false,
      scheduledAt: undefined,
      removesAnnotation: false,
      unreadable: text,
    });
  },
);

test("17.9 true restarts a finished workflow once", () => {
  const noted = decideRestart({ ...finished, annotation: "true" }, now);
  expect(noted).toEqual({ restarts: false, scheduledAt: "2030-01-01T00:00:00Z", removesAnnotation: true });
  expect(decideRestart({ ...finished, scheduledAt: noted.scheduledAt }, now)).toEqual({
    restarts: true,
    scheduledAt: undefined,
    removesAnnotation: false,
  });
});

test("17.9 an instant is kept in the status until it comes", () => {
  const later = "2030-01-01T01:00:00Z";
  const noted = decideRestart({ ...finished, annotation: later }, now);
  expect(noted).toEqual({ restarts: false, scheduledAt: later, removesAnnotation: true });
  const waiting = { ...finished, scheduledAt: later };
  expect(decideRestart(waiting, now)).toMatchObject({ restarts: false, wakeAt: now + 3_600_000 });
  expect(decideRestart(waiting, now + 3_600_000)).toMatchObject({ restarts: true, scheduledAt: undefined });
});

test("17.9 a duration restarts again and again, counted from the end of the last run", () => {
  const state = { ...finished, annotation: "5m" };
  expect(decideRestart(state, now)).toEqual({
    restarts: false,
    removesAnnotation: false,
    scheduledAt: "2030-01-01T00:04:00Z",
    wakeAt: now + 240_000,
  });
  expect(decideRestart(state, now + 240_000)).toEqual({
    restarts: true,
    removesAnnotation: false,
    scheduledAt: undefined,
  });
});

test("only a finished workflow restarts; a request waits for its end", () => {
  const running = { ...finished, isFinished: false, endedAt: undefined };
  expect(decideRestart({ ...running, annotation: "true" }, now)).toEqual({
    restarts: false,
    scheduledAt: "2030-01-01T00:00:00Z",
    removesAnnotation: true,
  });
  expect(decideRestart({ ...running, annotation: "5m" }, now).restarts).toBe(false);
  expect(decideRestart({ ...running, isFinished: true, scheduledAt: "2030-01-01T00:00:00Z" }, now).restarts).toBe(true);
});
