import { readFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { systemClock } from "#lib/base/index.ts";
import { runs } from "#test/support/property-runs.ts";
import { LogWriter } from "./log-writer.ts";
import { RecordReader } from "./record-reader.ts";
import { textOf, withDirectory } from "./testing/index.ts";

const chunk = fc.record({
  stream: fc.constantFrom("stdout" as const, "stderr" as const),
  text: fc.oneof(
    fc.string({ unit: fc.constantFrom("a", "b", "\n", "\r", "F", " "), maxLength: 60 }),
    fc.nat({ max: 40_000 }).map((length) => "x".repeat(length)),
  ),
});
const chunks = fc.array(chunk, { maxLength: 30 });

type Chunk = { readonly stream: "stdout" | "stderr"; readonly text: string };
const outputOf = (all: readonly Chunk[], stream: "stdout" | "stderr") =>
  all
    .filter((one) => one.stream === stream)
    .map((one) => one.text)
    .join("");

async function write(path: string, all: readonly Chunk[], maxBytes = 10_000_000): Promise<void> {
  const writer = new LogWriter(path, { clock: systemClock, rotation: { maxBytes, maxFiles: 99 } });
  for (const { stream, text } of all) {
    writer.append(stream, Buffer.from(text, "latin1"));
    if (text.length % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await writer.close();
}

test("each stream is read back byte for byte, however it was cut and rotated", async () => {
  await fc.assert(
    fc.asyncProperty(chunks, fc.constantFrom(200, 5_000, 10_000_000), (all, maxBytes) =>
      withDirectory(async (directory) => {
        const path = join(directory, "0.log");
        await write(path, all, maxBytes);
        expect(await textOf(path, { stream: "stdout" })).toBe(outputOf(all, "stdout"));
        expect(await textOf(path, { stream: "stderr" })).toBe(outputOf(all, "stderr"));
      }),
    ),
    { numRuns: runs(60) },
  );
});

test("the tail is the end of the whole, counted in lines", async () => {
  await fc.assert(
    fc.asyncProperty(chunks, fc.nat({ max: 12 }), fc.constantFrom(200, 10_000_000), (all, lines, maxBytes) =>
      withDirectory(async (directory) => {
        const path = join(directory, "0.log");
        await write(path, all, maxBytes);
        const whole = outputOf(all, "stdout").split("\n");
        const unfinished = whole.pop() ?? "";
        const all_lines = [...whole.map((line) => `${line}\n`), ...(unfinished === "" ? [] : [unfinished])];
        const expected = lines === 0 ? "" : all_lines.slice(-lines).join("");
        expect(await textOf(path, { stream: "stdout", tailLines: lines })).toBe(expected);
      }),
    ),
    { numRuns: runs(60) },
  );
});

test("how the file's bytes arrive makes no difference to the reader", async () => {
  await fc.assert(
    fc.asyncProperty(chunks, fc.integer({ min: 1, max: 500 }), fc.boolean(), (all, piece, timestamps) =>
      withDirectory(async (directory) => {
        const path = join(directory, "0.log");
        await write(path, [{ stream: "stdout", text: "first\n" }, ...all]);
        // Hundreds of pieces of any size; all of it in single bytes would take seconds.
        const bytes = (await readFile(path)).subarray(0, Math.min(60_000, 600 * piece));
        const whole = new RecordReader({ timestamps }).read(bytes);
        const reader = new RecordReader({ timestamps });
        const pieces: Buffer[] = [];
        for (let from = 0; from < bytes.length; from += piece) {
          pieces.push(reader.read(Buffer.from(bytes.subarray(from, from + piece))));
        }
        expect(Buffer.concat(pieces).equals(whole)).toBe(true);
      }),
    ),
    { numRuns: runs(30) },
  );
});
