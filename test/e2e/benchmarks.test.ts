import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { root } from "#test/support/slipway.ts";

/** The ids in the table of bench/README.md: `| B3, B3b | …`. */
const ids = [
  ...readFileSync(join(root, "bench/README.md"), "utf8").matchAll(/^\| ([A-Z]\d+\w*(?:, \w+)*) \|/gm),
].flatMap(([, cell = ""]) => cell.split(", "));

// Its figures mean nothing: it shows that every benchmark starts, checks its results and ends.
test("a smoke run tries every benchmark once, and names the peers that it leaves out", async () => {
  expect(ids.length).toBeGreaterThan(20);
  const args = [join(root, "bench/run.mjs"), "--smoke"];
  const { stderr } = await promisify(execFile)(process.execPath, args, { timeout: 1_700_000, maxBuffer: 2 ** 24 });
  expect(stderr).toContain("B1: WITHOUT DBOS: a smoke run has no peers");
  expect(ids.filter((id) => !stderr.includes(`\n${id}: round 1 of 1`))).toEqual([]);
}, 1_800_000);
