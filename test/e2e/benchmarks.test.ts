import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { root } from "#test/support/slipway.ts";
import { rounds } from "#test/support/rounds.ts";

/** The ids in the table of bench/README.md: `| B3, B3b | …`. */
const ids = [
  ...readFileSync(join(root, "bench/README.md"), "utf8").matchAll(/^\| ([A-Z]\d+\w*(?:, \w+)*) \|/gm),
].flatMap(([, cell = ""]) => cell.split(", "));

/** One benchmark of each way to run: a library with peers, steps that are processes, logs. */
const few = ["B3b", "B6", "B9d"];

// Its figures mean nothing: it shows that benchmarks start, check their results and end.
test("a smoke run tries benchmarks once, all of them in the long form, and names the peers that it leaves out", async () => {
  expect(ids.length).toBeGreaterThan(20);
  expect(ids).toEqual(expect.arrayContaining(few));
  const tried = rounds(few, ids);
  const args = [join(root, "bench/run.mjs"), "--smoke", "--only", tried.join()];
  const { stderr } = await promisify(execFile)(process.execPath, args, { timeout: 1_700_000, maxBuffer: 2 ** 24 });
  expect(stderr).toMatch(/^B3b: WITHOUT .*: a smoke run has no peers$/m);
  expect(tried.filter((id) => !stderr.includes(`\n${id}: round 1 of 1`))).toEqual([]);
}, 1_800_000);
