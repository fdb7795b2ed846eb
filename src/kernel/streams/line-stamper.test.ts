import { expect, test } from "vitest";
import { LineStamper } from "./line-stamper.ts";
import { longestHeldText, prefixLength, recordPrefix } from "./record.ts";

const at = Date.UTC(2026, 0, 31, 12, 0, 0, 123);
const stamp = (stamper: LineStamper, text: string) => stamper.stamp(Buffer.from(text), at).bytes.toString();

test("each line of a chunk gets the time, the stream and the flag F", () => {
  expect(stamp(new LineStamper("stdout"), "one\n\ntwo\n")).toBe(
    "2026-01-31T12:00:00.123000000Z stdout F one\n" +
      "2026-01-31T12:00:00.123000000Z stdout F \n" +
      "2026-01-31T12:00:00.123000000Z stdout F two\n",
  );
});

test("the beginning of a line waits for its end in a later chunk", () => {
  const stamper = new LineStamper("stderr");
  expect(stamp(stamper, "one\nt")).toBe("2026-01-31T12:00:00.123000000Z stderr F one\n");
  expect(stamp(stamper, "w")).toBe("");
  expect(stamper.holds).toBe(true);
  expect(stamp(stamper, "o\n")).toBe("2026-01-31T12:00:00.123000000Z stderr F two\n");
  expect(stamper.holds).toBe(false);
});

test("flushing writes an unfinished line as a piece", () => {
  const stamper = new LineStamper("stdout");
  stamp(stamper, "prompt> ");
  expect(stamper.flush(at).bytes.toString()).toBe("2026-01-31T12:00:00.123000000Z stdout P prompt> \n");
  expect(stamper.flush(at).records).toBe(0);
});

test("a line without end never holds more than its limit", () => {
  const stamper = new LineStamper("stdout");
  let written = 0;
  for (let piece = 0; piece < 40; piece++) written += stamper.stamp(Buffer.alloc(1024, "x"), at).bytes.length;
  expect(written).toBeGreaterThan(40 * 1024 - longestHeldText - 1024);
});

test("many empty lines need more room than their text and are all stamped", () => {
  const { bytes, records } = new LineStamper("stdout").stamp(Buffer.from("\n".repeat(10_000)), at);
  expect(records).toBe(10_000);
  expect(bytes.length).toBe(10_000 * (prefixLength + 1));
});

test("every prefix has the length the readers count on", () => {
  for (const stream of ["stdout", "stderr"] as const) {
    for (const flag of ["F", "P"] as const) expect(recordPrefix(at, stream, flag)).toHaveLength(prefixLength);
  }
});
