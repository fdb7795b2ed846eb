import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import { runs } from "#test/support/property-runs.ts";
import { judgeJobSpec } from "./check-job-spec.ts";
import { isPlainJobSpec } from "./plain-job-spec.ts";

const right: JsonObject = {
  backoffLimit: 0,
  template: {
    spec: {
      restartPolicy: "Never",
      containers: [
        { name: "main", image: "busybox:1", command: ["sh", "-c", "true"], env: [{ name: "A", value: "b" }] },
      ],
    },
  },
};

/** What takes the place of a member: nothing, something near, or anything. */
const replacement: fc.Arbitrary<JsonValue | undefined> = fc.oneof(
  fc.constantFrom<(JsonValue | undefined)[]>(
    undefined,
    null,
    "",
    " ",
    "a=b",
    "Always",
    "OnFailure",
    "1",
    0,
    -1,
    1.5,
    [],
    {},
  ),
  fc.constantFrom<JsonValue[]>([""], [1], [null], [{}], [{ name: "A", value: 1 }], [{ name: "A B" }], { name: "x" }),
  fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<JsonValue>,
);
const name = fc.constantFrom(
  "backoffLimit",
  "template",
  "spec",
  "containers",
  "name",
  "image",
  "env",
  "value",
  "args",
  "typo",
);

/** The spec with some members changed or added, at any depth. */
function changed(value: JsonValue, places: readonly (readonly [string, number, JsonValue | undefined])[]): JsonValue {
  let count = 0;
  const walk = (node: JsonValue): JsonValue => {
    if (Array.isArray(node)) return node.map((item: JsonValue) => walk(item));
    if (typeof node !== "object" || node === null) return node;
    const here = count++;
    const own = Object.entries(node).map(([key, member]): [string, JsonValue] => [key, walk(member ?? null)]);
    const mine = places
      .filter(([, at]) => at === here)
      .map(([key, , member]): [string, JsonValue | undefined] => [key, member]);
    return Object.fromEntries([...own, ...mine].filter((pair): pair is [string, JsonValue] => pair[1] !== undefined));
  };
  return walk(value);
}

test("nothing is found in a spec that is plain, however it is judged", () => {
  let plain = 0;
  fc.assert(
    fc.property(fc.array(fc.tuple(name, fc.nat(4), replacement), { maxLength: 3 }), (places) => {
      const spec = changed(right, places) as JsonObject;
      if (!isPlainJobSpec(spec)) return;
      plain += 1;
      expect(judgeJobSpec(spec, ["spec"], () => false)).toEqual({
        causes: [],
        unsupported: [],
        unknown: [],
        warnings: [],
      });
    }),
    { numRuns: runs(2000) },
  );
  expect(plain, "some are plain").toBeGreaterThan(runs(20));
});

test("a program with arguments and variables is plain, and so is the short form of a step", () => {
  expect(isPlainJobSpec(right)).toBe(true);
});
