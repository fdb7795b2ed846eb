import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { longest } from "../support/longest-first.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

test("files that are to begin first are there: one with another name would lose its place without a word", () => {
  expect(longest.filter((path) => !existsSync(`${root}${path}`))).toEqual([]);
});
