import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { encodeFrame, longestFrame, type Message, receiveFrames } from "./wire.ts";

/** As much of a socket as a receiver needs: bytes come by `data`, and it may be destroyed. */
class Wire extends EventEmitter {
  failure: Error | undefined;

  destroy(failure: Error): void {
    this.failure = failure;
    this.removeAllListeners();
  }
}

function receiver() {
  const wire = new Wire();
  const received: unknown[] = [];
  receiveFrames<Message>(wire as unknown as Socket, (message) => received.push(message));
  return { wire, received };
}

const messages: readonly Message[] = [
  { seq: 1, value: null },
  { seq: 2, error: "naïve — 走" },
  { event: "replaced" },
  { event: "task", status: { id: "a/main/0", state: { phase: "running", startedAt: 1, pid: 2 } } },
  { seq: 3, value: { protocol: 1, tasks: [] } },
];

test("messages come out as they went in, however their bytes were cut on the way", () => {
  const bytes = Buffer.concat(messages.map(encodeFrame));
  fc.assert(
    fc.property(fc.array(fc.nat({ max: bytes.length }), { maxLength: 30 }), (cuts) => {
      const { wire, received } = receiver();
      const places = [0, ...[...cuts].sort((a, b) => a - b), bytes.length];
      for (let index = 1; index < places.length; index++) {
        wire.emit("data", bytes.subarray(places[index - 1], places[index]));
      }
      expect(received).toEqual(messages);
      expect(wire.failure).toBeUndefined();
    }),
    { numRuns: 100 },
  );
});

test("one byte at a time is enough", () => {
  const { wire, received } = receiver();
  for (const byte of encodeFrame(messages[1] as Message)) wire.emit("data", Buffer.from([byte]));
  expect(received).toEqual([messages[1]]);
});

test("a frame is four bytes of length and JSON", () => {
  const frame = encodeFrame({ seq: 1, error: "é" });
  expect(frame.readUInt32BE(0)).toBe(frame.length - 4);
  expect(frame.toString("utf8", 4)).toBe('{"seq":1,"error":"é"}');
});

test("what is longer than a frame may be is not sent", () => {
  const error = "x".repeat(longestFrame);
  expect(() => encodeFrame({ seq: 1, error })).toThrow(
    expect.objectContaining({ code: "frame-too-long", message: expect.stringContaining(`limit of ${longestFrame}`) }),
  );
});

test.each([
  ["a length beyond the limit, before its bytes are gathered", Buffer.from([0xff, 0xff, 0xff, 0xff])],
  ["no JSON", Buffer.from([0, 0, 0, 1, 123])],
  ["nothing where JSON should be", Buffer.from([0, 0, 0, 0])],
])("%s ends the connection, and what came before it was received", (_name, bytes) => {
  const { wire, received } = receiver();
  wire.emit("data", Buffer.concat([encodeFrame({ seq: 1, value: null }), bytes]));
  expect(received).toEqual([{ seq: 1, value: null }]);
  expect(wire.failure).toBeInstanceOf(Error);
});

test("a receiver that fails ends the connection, not the process", () => {
  const wire = new Wire();
  receiveFrames<Message>(wire as unknown as Socket, () => {
    throw new Error("cannot take it");
  });
  wire.emit("data", encodeFrame({ event: "replaced" }));
  expect(wire.failure?.message).toBe("cannot take it");
});

test("a long message in small pieces costs no more than its length", () => {
  const { wire, received } = receiver();
  const frame = encodeFrame({ seq: 1, error: "x".repeat(4 * 1024 * 1024) });
  // Joined at every piece this would be 8 GiB of copying, which no test would wait for.
  for (let from = 0; from < frame.length; from += 1024) wire.emit("data", frame.subarray(from, from + 1024));
  expect(received).toHaveLength(1);
});
