import { expect, test } from "vitest";
import { fieldsOf, FrameCounter, FrameReader } from "./frame-reader.ts";
import { FrameWriter } from "./frame-writer.ts";

/** Frames of messages of these lengths, each byte of which is its number. */
function framesOf(lengths: readonly number[]): Buffer {
  return Buffer.concat(
    lengths.map((length, at) => {
      const frame = Buffer.alloc(5 + length, at + 1);
      frame.writeUInt8(0, 0);
      frame.writeUInt32BE(length, 1);
      return frame;
    }),
  );
}

test.each([1, 2, 3, 5, 6, 7, 100, 10_000])("messages are found in pieces of %i bytes", (size) => {
  const lengths = [0, 1, 7, 0, 300, 5000, 2];
  const frames = framesOf(lengths);
  const reader = new FrameReader(5000);
  const found: Buffer[] = [];
  for (let at = 0; at < frames.length; at += size) found.push(...reader.push(frames.subarray(at, at + size)));
  expect(found.map((message) => [message.length, message[0]])).toEqual(
    lengths.map((length, at) => [length, length === 0 ? undefined : at + 1]),
  );
  expect(reader.isInside).toBe(false);
});

test("a message that is too long is refused by its header, and one that is compressed too", () => {
  const reader = new FrameReader(10);
  expect(reader.push(Buffer.from([0, 0, 0]))).toEqual([]);
  expect(reader.isInside).toBe(true);
  expect(() => reader.push(Buffer.from([0, 11]))).toThrow("expected messages of at most 10 bytes, found 11");
  expect(() => new FrameReader(10).push(Buffer.from([1, 0, 0, 0, 0]))).toThrow("compressed");
});

test("fields are what was written, and those of other types are passed over", () => {
  const writer = new FrameWriter(100);
  writer.uint(1, 300);
  writer.uint(2, 0);
  writer.bytes(4, Buffer.from("text"));
  const fixed = Buffer.from([0x29, 1, 2, 3, 4, 5, 6, 7, 8, 0x35, 1, 2, 3, 4, 0x38, 1]);
  const fields = [...fieldsOf(Buffer.concat([writer.written(), fixed]))];
  expect(fields.map(({ number, value, bytes }) => [number, value, bytes.toString()])).toEqual([
    [1, 300, ""],
    [4, 0, "text"],
    [7, 1, ""],
  ]);
});

test.each([[[0x08, 0x80]], [[0x22, 5, 1]], [[0x0b]], [[0x08, ...Array<number>(12).fill(0xff)]]])(
  "what is no message is told: %j",
  (bytes) => {
    expect(() => [...fieldsOf(Buffer.from(bytes))]).toThrow(/the message/);
  },
);

test("messages are counted in bytes that come in any pieces", () => {
  const frames = Buffer.concat([Buffer.alloc(5), Buffer.from([0, 0, 0, 1, 2]), Buffer.alloc(258), Buffer.alloc(5)]);
  for (const size of [1, 2, 3, 7, 262, frames.length]) {
    const counter = new FrameCounter();
    const reader = new FrameReader(1000);
    for (let at = 0; at < frames.length; at += size) {
      const piece = frames.subarray(at, at + size);
      counter.push(piece);
      reader.push(piece);
      expect([counter.messages, counter.isInside]).toEqual([reader.messages, reader.isInside]);
    }
    expect([counter.messages, counter.isInside]).toEqual([3, false]);
  }
});
