import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonValue } from "#lib/base/index.ts";
import { applyJsonPatch } from "#lib/json/index.ts";
import { patchBetween } from "./patches.ts";

const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonValue>;
const object = fc.dictionary(fc.string(), json);

test("a patch between two objects leads from one to the other", () => {
  fc.assert(
    fc.property(object, object, (from, to) => {
      const applied = applyJsonPatch(from, patchBetween(from, to));
      expect(applied).toEqual({ ok: true, value: to });
    }),
  );
});
