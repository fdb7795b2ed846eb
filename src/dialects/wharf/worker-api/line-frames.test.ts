import { expect, test } from "vitest";
import { countedLines, cutLines, pickLines, readLines } from "./line-frames.ts";
import { framesOf } from "./testing/line-frames.ts";
import type { WorkerLine } from "./worker-messages.ts";

const line = (logId: number, more: Partial<WorkerLine> = {}): WorkerLine => ({
  stepId: 1,
  logId,
  time: { seconds: 1_700_000_000, nanos: 5 },
  message: `line ${logId}`,
  ...more,
});
const idsOf = (frames: Parameters<typeof readLines>[0]) => readLines(frames).map(({ logId }) => logId);

test("what generated code has written is read, whatever is left out", () => {
  const lines = [
    line(1),
    line(300, { stepId: 70_000, message: "ö".repeat(300) }),
    line(2 ** 40, { time: undefined, message: "" }),
    line(0, { stepId: 0, time: { seconds: -62_135_596_799, nanos: 0 } }),
    line(0, { stepId: 0, time: { seconds: 0, nanos: 0 }, message: "" }),
  ];
  expect(readLines(framesOf(lines))).toEqual(lines);
  expect(countedLines(framesOf(lines).bytes).lines).toBe(5);
});

test("fields in another order, and those that are none of a line's, change nothing", () => {
  const message = [
    0x22, 1, 0x78, 0x28, 9, 0x3a, 1, 0, 0x31, 1, 2, 3, 4, 5, 6, 7, 8, 0x3d, 1, 2, 3, 4, 0x10, 2, 0x08, 3,
  ];
  const frames = { bytes: Buffer.from([0, 0, 0, 0, message.length, ...message]), lines: 1 };
  expect(readLines(frames)).toEqual([{ stepId: 2, logId: 3, time: undefined, message: "x" }]);
});

test.each([[[0x08]], [[0x08, 0x80]], [[0x22, 5, 1]], [[0x0b]], [[0x31, 1]], [[0x08, ...Array<number>(12).fill(0xff)]]])(
  "bytes that are no line are told: %j",
  (message) => {
    // What stands behind it is no part of it.
    const bytes = Buffer.from([0, 0, 0, 0, message.length, ...message, 0, 0, 0, 0, 0]);
    expect(() => readLines({ bytes, lines: 2 })).toThrow("expected lines of a log");
  },
);

test("lines are picked without a copy where all are wanted", () => {
  const frames = framesOf([1, 2, 3, 4, 5].map((id) => line(id)));
  expect(pickLines(frames, () => true).bytes).toBe(frames.bytes);
  expect(idsOf(pickLines(frames, (_stepId, id) => id !== 1 && id !== 4))).toEqual([2, 3, 5]);
  expect(idsOf(pickLines(frames, (_stepId, id) => id === 3))).toEqual([3]);
  expect(pickLines(frames, () => false)).toEqual({ bytes: Buffer.alloc(0), lines: 0 });
});

test("parts have as many lines as told, and no more bytes than what their last line brings", () => {
  const frames = framesOf([1, 2, 3, 4, 5].map((id) => line(id)));
  expect(cutLines(frames, { lines: 5, bytes: 10_000 })).toEqual([frames]);
  expect(cutLines(framesOf([]), { lines: 5, bytes: 10_000 })).toEqual([]);
  const parts = cutLines(frames, { lines: 2, bytes: 10_000 });
  expect(parts.map(idsOf)).toEqual([[1, 2], [3, 4], [5]]);
  expect(parts.map(({ lines }) => lines)).toEqual([2, 2, 1]);
  const length = frames.bytes.length / 5;
  expect(cutLines(frames, { lines: 5, bytes: length + 1 }).map(idsOf)).toEqual([[1, 2], [3, 4], [5]]);
  expect(cutLines(frames, { lines: 5, bytes: 1 }).map(idsOf)).toEqual([[1], [2], [3], [4], [5]]);
});
