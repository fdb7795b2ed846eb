import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  escapeFieldValue,
  fieldMatcher,
  type FieldRequirement,
  matchesFields,
  parseFieldSelector,
} from "./field-selector.ts";

const valueOf = (path: string) => ({ "metadata.name": "a,b=c\\d", "status.phase": "Running" })[path];

describe("field selectors", () => {
  test.each([
    ["", true],
    [",", true],
    ["status.phase=Running", true],
    ["status.phase= Running", false],
    ["status.phase==Running", true],
    ["status.phase!=Running", false],
    ["status.phase!=Failed,missing=", true],
    ["status.phase=Running,", true],
    [",,status.phase=Failed", false],
    ["missing!=", false],
    ["missing!=x", true],
    ["metadata.name=a\\,b\\=c\\\\d", true],
    ["metadata.name!=a\\,b\\=c\\\\d", false],
  ])("%j is %j", (selector, expected) => {
    const parsed = parseFieldSelector(selector);
    expect(parsed.ok && matchesFields(parsed.value, valueOf)).toBe(expected);
  });

  test("a matcher holds for what all requirements hold for, one by one", () => {
    const value = fc.constantFrom("", "Running", "Failed");
    const path = fc.constantFrom("status.phase", "spec.nodeName", "metadata.name");
    const requirement: fc.Arbitrary<FieldRequirement> = fc.record({
      path,
      operator: fc.constantFrom("=", "!="),
      value,
    });
    fc.assert(
      fc.property(fc.array(requirement, { maxLength: 5 }), fc.dictionary(path, value), (selector, fields) => {
        const fieldOf = (name: string) => fields[name];
        expect(fieldMatcher(selector)(fieldOf)).toBe(matchesFields(selector, fieldOf));
      }),
    );
  });

  test("an escaped value reads as itself", () => {
    fc.assert(
      fc.property(fc.string(), fc.constantFrom("=", "!="), (value, operator) => {
        expect(parseFieldSelector(`a${operator}${escapeFieldValue(value)},b=c`)).toEqual({
          ok: true,
          value: [
            { path: "a", operator, value },
            { path: "b", operator: "=", value: "c" },
          ],
        });
      }),
    );
  });

  test.each([
    ["a", 'expected field=value or field!=value, found "a"'],
    ["=b", 'expected field=value or field!=value, found "=b"'],
    [" =b", 'expected field=value or field!=value, found " =b"'],
    ["  ", 'expected field=value or field!=value, found "  "'],
    [" a=b", 'expected field=value or field!=value, found " a=b"'],
    ["a =b", 'expected field=value or field!=value, found "a =b"'],
    ["a=b, c=d", 'expected field=value or field!=value, found " c=d"'],
    ["a!b", 'expected field=value or field!=value, found "a!b"'],
    ["a\\=b", 'expected field=value or field!=value, found "a\\\\=b"'],
  ])("%j is refused: %s", (selector, error) => {
    expect(parseFieldSelector(selector)).toEqual({ ok: false, error });
  });

  test.each(["a=\\x", "a=b=c", "a===b", "a=b\\", "a=\\"])("%j has a value that is refused", (selector) => {
    const parsed = parseFieldSelector(selector);
    expect(parsed.ok ? "" : parsed.error).toContain("need a backslash before them");
  });
});
