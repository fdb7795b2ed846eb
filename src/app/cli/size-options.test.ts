import { expect, test } from "vitest";
import { UsageError } from "#kernel/command/index.ts";
import { parseSize } from "./size-options.ts";

test.each([
  ["1", 1],
  ["1k", 1000],
  ["512Mi", 512 * 1024 ** 2],
  ["1.5Gi", 1.5 * 1024 ** 3],
])("%s is a size", (text, bytes) => {
  expect(parseSize("--max-artifact-size", text)).toBe(bytes);
});

test.each(["", "0", "-1", "500m", "many", "1Gib", "9e99"])("%j is none", (text) => {
  expect(() => parseSize("--max-artifact-size", text)).toThrow(UsageError);
});
