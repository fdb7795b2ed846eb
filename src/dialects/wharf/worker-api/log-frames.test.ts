import { expect, test } from "vitest";
import { fromBinary, wharfWorkerV1 } from "#kernel/rpc/index.ts";
import type { LogBatch } from "../results/log-line.ts";
import { encodeLogFrames, type TimeSpan } from "./log-frames.ts";

/** Each frame, read by the generated code. */
function messagesIn(frames: Buffer) {
  const messages = [];
  for (let at = 0; at < frames.length; ) {
    expect(frames[at]).toBe(0);
    const length = frames.readUInt32BE(at + 1);
    messages.push(fromBinary(wharfWorkerV1.StreamLogsResponseSchema, frames.subarray(at + 5, at + 5 + length)));
    at += 5 + length;
  }
  return messages;
}

const batchOf = (bytes: Buffer, firstId = 1, stepId = 3): LogBatch => ({ stepId, firstId, lines: 4, bytes });
const read = (text: string | Buffer, span?: TimeSpan, firstId?: number) =>
  messagesIn(encodeLogFrames(batchOf(Buffer.from(text), firstId), span));

const time = (text: string) => ({ seconds: BigInt(Date.parse(text) / 1000), nanos: 0 });

test("lines are messages with their ids, times and texts", () => {
  const frames = read(
    "2026-01-31T12:00:00.123456789Z one\n2026-01-31T12:00:00.123456789Z \n2026-01-31T13:00:01+01:00 två 🎈\nno time\nlast",
    undefined,
    70_000_000_000,
  );
  const first = { ...time("2026-01-31T12:00:00Z"), nanos: 123_456_789 };
  expect(frames).toMatchObject([
    { logId: 70_000_000_000n, stepId: 3n, timestamp: first, message: "one" },
    { logId: 70_000_000_001n, stepId: 3n, timestamp: first, message: "" },
    { logId: 70_000_000_002n, stepId: 3n, timestamp: time("2026-01-31T12:00:01Z"), message: "två 🎈" },
    { logId: 70_000_000_003n, stepId: 3n, message: "no time" },
    { logId: 70_000_000_004n, stepId: 3n, message: "last" },
  ]);
  expect(frames[3]?.timestamp).toBeUndefined();
});

test.each([0, 127, 128, 16_383, 16_384, 2 ** 31 - 1, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER])(
  "an id of %i is what it was",
  (id) => {
    expect(read("x\n", undefined, id)).toMatchObject([{ logId: BigInt(id) }]);
  },
);

test("a moment before 1970 is what it was", () => {
  expect(read("1969-12-31T23:59:58Z x\n")).toMatchObject([{ timestamp: { seconds: -2n, nanos: 0 } }]);
});

test("a line that only begins like the one before has a time of its own", () => {
  const [, second, third] = read("2026-01-31T12:00:00Z a\n2026-01-31T12:00:00\n2026-01-31T12:00:00Z\n");
  expect(second).toMatchObject({ message: "2026-01-31T12:00:00" });
  expect(third).toMatchObject({ message: "2026-01-31T12:00:00Z" });
  expect(third?.timestamp).toBeUndefined();
});

test("bytes that are no text are shown as such, and spoil no other line", () => {
  const bytes = Buffer.concat([Buffer.from("gr\u00fcn\n"), Buffer.from([0xff, 0xc3, 10]), Buffer.from("c\n")]);
  expect(read(bytes).map(({ message }) => message)).toEqual(["gr\u00fcn", "\ufffd\ufffd", "c"]);
});

test("no message is longer than 1.1 MiB, nor ends in the middle of a character", () => {
  const [long, wrong, next] = read(
    Buffer.concat([Buffer.from(`${"ä".repeat(600_000)}x\n`), Buffer.alloc(1024 * 1024, 0xff), Buffer.from("\nnext\n")]),
  );
  for (const line of [long, wrong]) expect(Buffer.byteLength(line?.message ?? "")).toBeLessThan(1.1 * 1024 * 1024);
  expect(wrong?.message).toMatch(/^\ufffd+$/);
  expect(next?.message).toBe("next");
});

test("of a span its beginning belongs to it and its end does not; lines without time always do", () => {
  const lines = [0, 1, 2, 3].map((second) => `2026-01-31T12:00:0${second}.5Z line ${second}\n`);
  const span = {
    since: { seconds: Date.parse("2026-01-31T12:00:01Z") / 1000, nanos: 500_000_000 },
    before: { seconds: Date.parse("2026-01-31T12:00:03Z") / 1000, nanos: 500_000_000 },
  };
  const seen = read(`${lines.join("")}no time\n`, span).map(({ logId, message }) => `${logId} ${message}`);
  expect(seen).toEqual(["2 line 1", "3 line 2", "5 no time"]);
  expect(encodeLogFrames(batchOf(Buffer.from(lines[0] ?? "")), span)).toHaveLength(0);
});
