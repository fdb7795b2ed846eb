import { expect, test } from "vitest";
import { differencesOf } from "./diff.ts";

test("what was added, taken away or changed, each at its own path", () => {
  const live = { spec: { a: 1, b: { c: "x", d: [1, 2] }, gone: true }, metadata: { uid: "u", labels: { l: "1" } } };
  const wanted = { spec: { a: 1, b: { c: "y", d: [1, 3] }, come: null }, metadata: { name: "w", labels: { l: "2" } } };
  expect(differencesOf(live, wanted)).toEqual([
    { path: "metadata.labels.l", from: "1", to: "2" },
    { path: "spec.b.c", from: "x", to: "y" },
    { path: "spec.b.d", from: [1, 2], to: [1, 3] },
    { path: "spec.come", to: null },
    { path: "spec.gone", from: true },
  ]);
});

test("status and what servers write are no difference; names of inherited members are names", () => {
  const live = { status: { phase: "Running" }, metadata: { resourceVersion: "1" }, spec: { constructor: "a" } };
  expect(differencesOf(live, { metadata: { annotations: {} }, spec: { constructor: "a" } })).toEqual([]);
  expect(differencesOf(live, { spec: {} })).toEqual([{ path: "spec.constructor", from: "a" }]);
});
