import { expect, test } from "vitest";
import type { JsonValue } from "#lib/base/index.ts";
import { semanticEquals } from "./semantic-equal.ts";

const container = (resources: JsonValue) => ({ spec: { containers: [{ name: "c", resources }] } });

test.each<[string, JsonValue, JsonValue, boolean]>([
  ["an amount in other words", container({ limits: { cpu: "1000m" } }), container({ limits: { cpu: 1 } }), true],
  ["another amount", container({ limits: { cpu: "1000m" } }), container({ limits: { cpu: "1001m" } }), false],
  ["binary and decimal", container({ requests: { memory: "1Gi" } }), container({ requests: { memory: "1G" } }), false],
  ["an amount that is missing", container({ limits: { cpu: "0" } }), container({ limits: {} }), false],
  ["what is no amount", container({ limits: { cpu: "x" } }), container({ limits: { cpu: "y" } }), false],
  ["a size", { emptyDir: { sizeLimit: "1024Mi" } }, { emptyDir: { sizeLimit: "1Gi" } }, true],
  ["a quota", { spec: { hard: { pods: "10" } } }, { spec: { hard: { pods: 10 } } }, true],
  ["a text that only looks like an amount", { data: { version: "1.0" } }, { data: { version: "1" } }, false],
  ["a name below amounts", { limits: { cpu: { value: "1.0" } } }, { limits: { cpu: { value: "1" } } }, false],
  ["another number of items", [1], [1, 2], false],
  ["null and nothing", { a: null }, {}, false],
])("%s: %j and %j are equal: %j", (_what, a, b, expected) => {
  expect(semanticEquals(a, b)).toBe(expected);
  expect(semanticEquals(b, a)).toBe(expected);
});
