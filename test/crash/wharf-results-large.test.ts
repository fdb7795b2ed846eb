import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { bundleProgram } from "../support/bundle-program.ts";
import { removeDirectory, temporaryDirectory } from "../support/slipway.ts";
import { rounds } from "#test/support/rounds.ts";

// A log that is larger than memory should be.

const mebibytes = rounds(48, 1024);

test("the memory of a worker does not grow with a log, nor with those who follow it", async () => {
  const directory = await temporaryDirectory();
  try {
    const program = await bundleProgram(join(import.meta.dirname, "wharf-results-large.ts"));
    const { stdout } = await promisify(execFile)(process.execPath, [
      program,
      join(directory, "7"),
      `${mebibytes}`,
      "10",
    ]);
    const { lines, given, grown } = JSON.parse(stdout) as { lines: number; given: number[]; grown: number };
    expect(lines).toBeGreaterThan(mebibytes * 10_000);
    expect(given).toEqual(Array.from({ length: 10 }, () => lines));
    expect(grown).toBeLessThan(64 * 2 ** 20);
  } finally {
    await removeDirectory(directory);
  }
});
