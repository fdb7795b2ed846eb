import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { systemClock } from "#lib/base/index.ts";
import { runs } from "#test/support/property-runs.ts";
import { LogWriter } from "./log-writer.ts";
import { textOf, withDirectory } from "./testing/index.ts";

const texts = fc.array(
  fc.oneof(
    fc.nat({ max: 900 }).map((count) => "line\n".repeat(count)),
    fc.string({ unit: fc.constantFrom("a", "\n", "\r"), maxLength: 40 }),
    fc.nat({ max: 40_000 }).map((length) => "x".repeat(length)),
  ),
  { maxLength: 12 },
);

/** Writers come and go, as those of programs that are adopted. */
async function write(path: string, all: readonly string[], rotation: { maxBytes: number; marksLoss: boolean }) {
  const begin = () => new LogWriter(path, { clock: systemClock, rotation: { ...rotation, maxFiles: 4 } });
  let writer = begin();
  for (const [index, text] of all.entries()) {
    writer.append("stdout", Buffer.from(text));
    if (index % 3 === 0) await writer.flushed();
    if (index % 5 !== 4) continue;
    await writer.close();
    writer = begin();
  }
  await writer.close();
}

/** The number of the first line, and the lines as they are kept. */
function linesOf(text: string): { readonly first: number; readonly lines: readonly string[] } {
  const [first = "", ...lines] = text.split("\n");
  return { first: Number(first), lines: lines.at(-1) === "" ? lines.slice(0, -1) : lines };
}

test("from any line on, and from the end, a log has the numbers that it has from its beginning", async () => {
  await fc.assert(
    fc.asyncProperty(
      texts,
      fc.constantFrom(3_000, 40_000, 10_000_000),
      fc.boolean(),
      fc.nat({ max: 12_000 }),
      async (all, maxBytes, marksLoss, line) =>
        await withDirectory(async (directory) => {
          const path = join(directory, "0.log");
          await write(path, all, { maxBytes, marksLoss });
          // Those that were written, less those of removed files.
          const written = all.join("").split("\n");
          const total = written.length - (written.at(-1) === "" ? 1 : 0);
          const whole = linesOf(await textOf(path, { numbered: true }));
          expect(whole.first + whole.lines.length).toBe(total);
          const kept = (first: number): readonly string[] => whole.lines.slice(Math.max(0, first - whole.first));
          const from = linesOf(await textOf(path, { numbered: true, fromLine: line }));
          expect(from.first).toBeLessThanOrEqual(Math.max(line, whole.first));
          expect(from.lines.slice(Math.max(0, line - from.first))).toEqual(kept(line));
          const tailLines = 1 + (line % 300);
          const tail = linesOf(await textOf(path, { numbered: true, tailLines }));
          expect(tail.first + tail.lines.length).toBe(whole.first + whole.lines.length);
          expect(kept(tail.first)).toEqual(tail.lines);
        }),
    ),
    { numRuns: runs(60) },
  );
});

test("a line is found by the index, however long the log is before it", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    await write(
      path,
      Array.from({ length: 40 }, (_, index) => `${index}\n`.repeat(500)),
      { maxBytes: 1e9, marksLoss: false },
    );
    const { first, lines } = linesOf(await textOf(path, { numbered: true, fromLine: 12_345, limitBytes: 100_000 }));
    expect(12_345 - first).toBeLessThan(3_000);
    expect(lines[12_345 - first]).toMatch(/^\S+Z stdout F 24$/);
  }));
