import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { JsonShape, type JsonShapeLimits } from "./shape.ts";

const wide: JsonShapeLimits = { maxDepth: 200, maxValues: 1e6, maxMembers: 1e6 };
const judge = (text: string, limits: Partial<JsonShapeLimits>) =>
  new JsonShape({ ...wide, ...limits }).take(Buffer.from(text));

describe("a text goes beyond", () => {
  test.each([
    ["[[1]]", { maxDepth: 2 }, undefined],
    ["[[[1]]]", { maxDepth: 2 }, "maxDepth"],
    ['{"a":{"b":[]}}', { maxDepth: 2 }, "maxDepth"],
    ['"[[[["', { maxDepth: 2 }, undefined],
    ['["\\"[[[[", "\\\\"]', { maxDepth: 1 }, undefined],
    ["[1,2,3]", { maxValues: 4 }, undefined],
    ["[1,2,3,4]", { maxValues: 4 }, "maxValues"],
    ['[",,,,,,",1]', { maxValues: 3 }, undefined],
    ['{"a":1,"b":2}', { maxMembers: 2 }, undefined],
    ['{"a":1,"b":2,"c":3}', { maxMembers: 2 }, "maxMembers"],
    ['{"a":{"x":1},"b":{"y":1}}', { maxMembers: 2 }, undefined],
    ["[1,2,3,4,5]", { maxMembers: 2 }, undefined],
    ['{"a":[1,2,3,4,5]}', { maxMembers: 2 }, undefined],
    ['[{"a":1,"b":2,"c":3}]', { maxMembers: 2 }, "maxMembers"],
  ] as const)("%s with %j: %s", (text, limits, excess) => {
    expect(judge(text, limits)).toBe(excess);
  });

  test("no limit for closing more than was opened, which is no JSON", () => {
    expect(judge("]]]]}}}}[1]", { maxDepth: 1 })).toBe(undefined);
  });
});

/** Values as the shape counts them: an empty collection is its own and, for simplicity, one thing in it. */
function valuesIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  const inside: unknown[] = Object.values(value);
  return 1 + (inside.length === 0 ? 1 : inside.reduce<number>((sum, item) => sum + valuesIn(item), 0));
}

test("counts are those of the value, wherever the text is cut", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.integer({ min: 1, max: 7 }), (value, size) => {
      const bytes = Buffer.from(JSON.stringify(value));
      const values = valuesIn(JSON.parse(bytes.toString()));
      const judged = [values, values - 1].map((maxValues) => {
        const shape = new JsonShape({ ...wide, maxValues });
        for (let at = 0; at < bytes.length; at += size) {
          const excess = shape.take(bytes.subarray(at, at + size));
          if (excess !== undefined) return excess;
        }
        return undefined;
      });
      // A scalar alone is counted before anything is read.
      expect(judged).toEqual([undefined, values === 1 ? undefined : "maxValues"]);
    }),
  );
});
