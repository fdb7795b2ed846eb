import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "#test/support/property-runs.ts";
import { cutOf } from "./held-line.ts";
import { LineCutter } from "./line-cutter.ts";

const time = Buffer.from("T ");

/** The rules, a byte at a time. */
function linesIn(bytes: Buffer, most: number): readonly string[] {
  const lines: string[] = [];
  let [message, isBegun, isReturned] = [[] as number[], false, false];
  const emit = (piece: readonly number[]) => lines.push(Buffer.from(piece).toString("latin1"));
  for (const byte of bytes) {
    if (byte === 10) {
      emit(message);
      [message, isBegun, isReturned] = [[], false, false];
      continue;
    }
    isBegun = true;
    if (isReturned) message = [];
    isReturned = byte === 13;
    if (isReturned) continue;
    message.push(byte);
    if (message.length > most) emit(message.splice(0, cutOf(Buffer.from(message), most)));
  }
  if (isBegun) emit(message);
  return lines;
}

function cut(chunks: readonly Buffer[], most: number): string {
  const cutter = new LineCutter(most);
  const pages = [...chunks.map((chunk) => cutter.take(chunk, time)), cutter.end()];
  return Buffer.concat(pages.map((page) => page.bytes())).toString("latin1");
}

const byte = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(10, 13, 97, 0xc3, 0xa4, 0xe2, 0x82) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 255 }) },
);
const chunk = fc.array(byte, { maxLength: 40 }).map((bytes) => Buffer.from(bytes));

test("bytes of any kind in chunks of any size become the same lines", () => {
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 8 }), fc.integer({ min: 4, max: 30 }), (chunks, most) => {
      const lines = linesIn(Buffer.concat(chunks), most);
      expect(cut(chunks, most)).toBe(lines.map((line) => `T ${line}\n`).join(""));
    }),
    { numRuns: runs(2000) },
  );
});

test("no line is longer than it may be, and none has a carriage return", () => {
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 8 }), (chunks) => {
      for (const line of cut(chunks, 10).split("\n")) {
        expect(line.length).toBeLessThanOrEqual("T ".length + 10);
        expect(line).not.toContain("\r");
      }
    }),
    { numRuns: runs(500) },
  );
});
