import fc from "fast-check";
import { expect, test } from "vitest";
import { labelMatcher } from "./label-matcher.ts";
import { type LabelRequirement, matchesLabels } from "./label-selector.ts";

// Few keys and values, so that requirements meet each other and the labels.
const key = fc.constantFrom("a", "b", "constructor", "__proto__");
const value = fc.constantFrom("", "x", "y", "1", "2", "3", "9223372036854775808");
const requirement: fc.Arbitrary<LabelRequirement> = fc.oneof(
  fc.record({ key, operator: fc.constantFrom("In", "NotIn"), values: fc.array(value, { minLength: 1, maxLength: 3 }) }),
  fc.record({ key, operator: fc.constantFrom("Exists", "DoesNotExist") }),
  fc.record({ key, operator: fc.constantFrom("Gt", "Lt"), bound: fc.bigInt({ min: 0n, max: 4n }) }),
);
const labels = fc.option(fc.dictionary(key, value, { noNullPrototype: true }), { nil: undefined });

test("a matcher holds for what all requirements hold for, one by one", () => {
  fc.assert(
    fc.property(fc.array(requirement, { maxLength: 6 }), labels, (selector, found) => {
      expect(labelMatcher(selector)(found)).toBe(matchesLabels(selector, found));
    }),
    { numRuns: 3000 },
  );
});
