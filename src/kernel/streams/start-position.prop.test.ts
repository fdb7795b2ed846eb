import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { runs } from "#test/support/property-runs.ts";
import { LogWriter } from "./log-writer.ts";
import type { LogStream } from "./record.ts";
import { textOf, withDirectory } from "./testing/index.ts";

const start = Date.UTC(2026, 0, 1);

interface Line {
  readonly stream: LogStream;
  readonly text: string;
  /** Milliseconds after the line before. */
  readonly pause: number;
}

const line: fc.Arbitrary<Line> = fc.record({
  stream: fc.constantFrom<LogStream>("stdout", "stderr"),
  text: fc.string({ unit: fc.constantFrom("a", "b", "P", "F", " "), maxLength: 40 }),
  pause: fc.constantFrom(0, 1, 250, 60_000),
});

/** Writes whole lines, each as a batch of its own, and tells when each was written. */
async function write(path: string, lines: readonly Line[], maxBytes: number): Promise<readonly number[]> {
  const clock = new FakeClock(start);
  const writer = new LogWriter(path, { clock, rotation: { maxBytes, maxFiles: 99 } });
  const times: number[] = [];
  for (const { stream, text, pause } of lines) {
    clock.jump(clock.now() + pause);
    times.push(clock.now());
    writer.append(stream, Buffer.from(`${text}\n`));
    await writer.flushed();
  }
  await writer.close();
  return times;
}

const textFor = (lines: readonly Line[]): string => lines.map(({ text }) => `${text}\n`).join("");
const sizes = fc.constantFrom(120, 1_000, 10_000_000);
const often = { numRuns: runs(40) };

test("a tail is the end of the whole, of both streams together and of each", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 30 }), fc.nat({ max: 35 }), sizes, (lines, tailLines, maxBytes) =>
      withDirectory(async (directory) => {
        const path = join(directory, "0.log");
        await write(path, lines, maxBytes);
        const last = (all: readonly Line[]) => (tailLines === 0 ? [] : all.slice(-tailLines));
        expect(await textOf(path, { tailLines })).toBe(textFor(last(lines)));
        for (const stream of ["stdout", "stderr"] as const) {
          const own = lines.filter((one) => one.stream === stream);
          expect(await textOf(path, { tailLines, stream })).toBe(textFor(last(own)));
        }
      }),
    ),
    often,
  );
});

test("since shows exactly the records that are not older, in whatever file they are", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { maxLength: 30 }),
      fc.integer({ min: -1, max: 31 }),
      fc.constantFrom(-1, 0, 1),
      sizes,
      (lines, index, offset, maxBytes) =>
        withDirectory(async (directory) => {
          const path = join(directory, "0.log");
          const times = await write(path, lines, maxBytes);
          const since = (times[index] ?? (index < 0 ? start - 1 : start + 10_000_000)) + offset;
          const younger = lines.filter((_, at) => (times[at] ?? 0) >= since);
          expect(await textOf(path, { since })).toBe(textFor(younger));
        }),
    ),
    often,
  );
});

test("a log of thousands of lines gives the same with its index as without", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    const clock = new FakeClock(start);
    const writer = new LogWriter(path, { clock });
    for (let chunk = 0; chunk < 400; chunk++) {
      writer.append("stdout", Buffer.from(Array.from({ length: 10 }, (_, line) => `${chunk}.${line}\n`).join("")));
      await writer.flushed();
      clock.jump(clock.now() + 10);
    }
    await writer.close();
    const whole = await textOf(path, { since: start });
    for (const chunk of [0, 1, 25, 26, 27, 200, 398, 399]) {
      const since = start + 10 * chunk;
      const text = await textOf(path, { since });
      expect(text).toBe(whole.slice(whole.indexOf(`${chunk}.0\n`)));
    }
  }));
