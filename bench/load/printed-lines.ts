import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { sized } from "../harness/sizes.ts";

/** Lines of 100 bytes that one run prints. */
export const printedLines = sized(600_000);
const line = `${"x".repeat(99)}\n`;

export interface Load {
  readonly ms: number;
  readonly dir: string;
}

/**
 * Has `cat` print the lines into a pipe, again and again until the time is over; `take` reads them, each time from the beginning, and
 * answers how many it has found. Rejects when one is missing.
 */
export async function print({ ms, dir }: Load, take: (output: Readable, round: number) => Promise<number>) {
  const file = join(dir, "lines");
  await writeFile(file, line.repeat(printedLines));
  const start = performance.now();
  let round = 0;
  do {
    const cat = spawn("cat", [file], { stdio: ["ignore", "pipe", "inherit"] });
    const found = await take(cat.stdout, round++);
    if (found !== printedLines) throw new Error(`expected ${printedLines} lines, found ${found}`);
  } while (performance.now() - start < ms);
  return { ops: round * printedLines, ms: performance.now() - start };
}
