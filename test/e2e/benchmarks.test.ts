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

// Its figures mean nothing: it shows that benchmarks start, check their results and end. Each start, window and end is waited for for a while only,
// and fails by its name. Peers are left out aloud; where a change is judged, so are the floors, bare programs that are not of the product.
test("a smoke run tries every benchmark once, and names what it leaves out", async () => {
  expect(ids.length).toBeGreaterThan(20);
  const args = [join(root, "bench/run.mjs"), "--smoke", ...rounds(["--ours"], [])];
  const { stderr } = await promisify(execFile)(process.execPath, args, { timeout: 1_700_000, maxBuffer: 2 ** 24 });
  expect(stderr).toMatch(/^B3b: WITHOUT .*: a smoke run has no peers$/m);
  expect(ids.filter((id) => !stderr.includes(`\n${id}: round 1 of 1`))).toEqual([]);
}, 1_800_000);
