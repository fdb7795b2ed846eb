import { expect, test } from "vitest";
import { compileRe2 } from "./index.ts";
import { estimateSize } from "./re2-size.ts";

test.each([
  ["", 0],
  ["abc", 3],
  ["a|b*c+", 3],
  ["[a-z]{10}", 10],
  ["[]a]{3}", 3],
  ["[^\\]x]{3}", 3],
  ["\\d{2,5}", 5],
  ["\\p{Greek}{4}", 4],
  ["\\x{10FFFF}{4}", 4],
  ["a{3,}", 3],
  ["a{0}", 1],
  ["(ab){10}", 40],
  ["((a{10}){10}){10}", 1220],
  ["a\\{5}", 4],
  ["{5}", 0],
])("the size of %s is about %d", (pattern, size) => {
  expect(estimateSize(pattern)).toBe(size);
});

test.each(["(", ")", "a)b", "[", "\\", "{", "a{", "(((", "[^"])("the wrong pattern %s has some size", (pattern) => {
  expect(estimateSize(pattern)).toBeGreaterThanOrEqual(0);
});

test.each([
  "a{900}",
  "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*",
  "(a{10}b{10}){10}",
  "\\w+@\\w+\\.\\w{2,20}",
])("the estimate of %s is near its program", (pattern) => {
  const compiled = compileRe2(pattern);
  if (!compiled.ok) throw new Error(compiled.error);
  const ratio = compiled.value.size / estimateSize(pattern);
  expect(ratio).toBeGreaterThan(0.3);
  expect(ratio).toBeLessThan(3);
});
