import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "#test/support/property-runs.ts";
import { LineStamper, type Stamped } from "./line-stamper.ts";
import { flagOffset, fullFlag, longestHeldText, prefixLength, recordPrefix, timeLength } from "./record.ts";

const start = Date.UTC(2026, 0, 1);

/** Chunks of output with the pause before each; some are followed by the flush of an impatient clock. */
const step = fc.record({
  text: fc.oneof(
    { weight: 4, arbitrary: fc.string({ unit: fc.constantFrom("a", "é", "\n", "\r", "\0"), maxLength: 30 }) },
    { weight: 1, arbitrary: fc.nat({ max: 3 * longestHeldText }).map((length) => "x".repeat(length)) },
  ),
  pause: fc.nat({ max: 5_000 }),
  flush: fc.boolean(),
});

interface Record {
  readonly time: string;
  readonly full: boolean;
  readonly text: Buffer;
}

function recordsIn({ bytes, records }: Stamped): readonly Record[] {
  const found: Record[] = [];
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(10, from);
    expect(end).toBeGreaterThanOrEqual(from + prefixLength);
    const full = bytes[from + flagOffset] === fullFlag;
    const time = bytes.toString("latin1", from, from + timeLength);
    found.push({ time, full, text: bytes.subarray(from + prefixLength, end) });
    from = end + 1;
  }
  expect(found).toHaveLength(records);
  return found;
}

test("records are the output: joined they are its bytes, each full one is a line, none is longer than one may be", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
      const stamper = new LineStamper("stdout");
      const records: Record[] = [];
      let at = start;
      for (const { text, pause, flush } of steps) {
        at += pause;
        const stamped = [stamper.stamp(Buffer.from(text), at), ...(flush ? [stamper.flush(at)] : [])];
        const made = stamped.flatMap(recordsIn);
        // A record never claims a time at which it could not have been written.
        const time = recordPrefix(at, "stdout", "F").toString("latin1", 0, timeLength);
        for (const record of made) expect(record.time).toBe(time);
        records.push(...made);
        if (flush) expect(stamper.holds).toBe(false);
      }
      records.push(...recordsIn(stamper.flush(at)));
      expect(stamper.holds).toBe(false);
      const all = steps.map(({ text }) => text).join("");
      const joined = Buffer.concat(records.flatMap(({ text, full }) => (full ? [text, Buffer.from("\n")] : [text])));
      expect(joined.equals(Buffer.from(all))).toBe(true);
      expect(records.filter(({ full }) => full)).toHaveLength(all.split("\n").length - 1);
      for (const { text } of records) expect(text.includes(10)).toBe(false);
    }),
    { numRuns: runs(150) },
  );
});

test("how a line was cut on its way makes no difference, unless somebody lost patience", () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: fc.constantFrom("a", "b", "\n"), maxLength: 12 }), { maxLength: 20 }),
      (texts) => {
        const whole = new LineStamper("stderr").stamp(Buffer.from(texts.join("")), start);
        const stamper = new LineStamper("stderr");
        const pieces = texts.map((text) => stamper.stamp(Buffer.from(text), start));
        expect(Buffer.concat(pieces.map(({ bytes }) => bytes)).equals(whole.bytes)).toBe(true);
      },
    ),
    { numRuns: runs(150) },
  );
});

test("a producer of single bytes without newline is written in pieces of bounded length", () => {
  const stamper = new LineStamper("stdout");
  const lengths: number[] = [];
  const byte = Buffer.from("x");
  for (let index = 0; index < 3 * longestHeldText; index++) {
    for (const { text } of recordsIn(stamper.stamp(byte, start))) lengths.push(text.length);
  }
  expect(lengths).toEqual([longestHeldText + 1, longestHeldText + 1]);
});
