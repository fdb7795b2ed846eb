import { expect, test } from "vitest";
import { RecordReader, type RecordReaderOptions } from "./record-reader.ts";
import { type LogStream, recordPrefix } from "./record.ts";

const start = Date.UTC(2026, 0, 1);
const record = (text: string, more: { stream?: LogStream; flag?: "F" | "P"; second?: number } = {}) =>
  `${recordPrefix(start + 1_000 * (more.second ?? 0), more.stream ?? "stdout", more.flag ?? "F").toString()}${text}\n`;

const read = (text: string, options?: RecordReaderOptions): string => {
  const reader = new RecordReader(options);
  return Buffer.concat([reader.read(Buffer.from(text)), reader.end()]).toString();
};

test.each([
  ["a full record is a line", record("one"), "one\n"],
  ["an empty line stays one", record(""), "\n"],
  ["pieces are joined with what follows them", record("ha", { flag: "P" }) + record("lf"), "half\n"],
  ["a piece at the end has no newline", record("prompt> ", { flag: "P" }), "prompt> "],
  ["an empty piece is nothing", record("", { flag: "P" }), ""],
  ["both streams come in their order", record("a") + record("b", { stream: "stderr" }), "a\nb\n"],
  ["a carriage return is text", record("10 %\r20 %"), "10 %\r20 %\n"],
  ["text that looks like a record is text", record(record("inner").trimEnd()), record("inner")],
  ["lines of another making come out as they are", "strange\n\n", "strange\n\n"],
  ["a long line of another making does, too", `${"z".repeat(100)}\n`, `${"z".repeat(100)}\n`],
  ["a record without end shows its text", record("torn").trimEnd(), "torn"],
  ["a record cut within its prefix shows nothing", record("torn").slice(0, 35), ""],
  ["a record cut just after its prefix shows nothing", record("torn").slice(0, 40), ""],
  ["nothing is nothing", "", ""],
])("%s", (_name, bytes, expected) => {
  expect(read(bytes)).toBe(expected);
});

test("times stand before lines only, also when a piece of the other stream comes in between", () => {
  const bytes =
    record("out ", { flag: "P", second: 1 }) +
    record("err", { stream: "stderr", second: 2 }) +
    record("put", { second: 3 }) +
    record("next", { second: 4 });
  expect(read(bytes, { timestamps: true })).toBe(
    "2026-01-01T00:00:01.000000000Z out 2026-01-01T00:00:02.000000000Z err\nput\n2026-01-01T00:00:04.000000000Z next\n",
  );
});

test("one stream can be chosen, and its pieces stay together", () => {
  const bytes = record("a", { flag: "P" }) + record("x", { stream: "stderr" }) + record("b");
  expect(read(bytes, { stream: "stdout" })).toBe("ab\n");
  expect(read(bytes, { stream: "stderr" })).toBe("x\n");
});

test("since keeps what is exactly as old, and drops pieces on their own", () => {
  const bytes = record("old ", { flag: "P", second: 1 }) + record("new", { second: 2 }) + record("more", { second: 3 });
  expect(read(bytes, { since: start + 2_000 })).toBe("new\nmore\n");
  expect(read(bytes, { since: start + 2_001 })).toBe("more\n");
  expect(read(bytes, { since: start })).toBe("old new\nmore\n");
});

test("a file of one endless line is passed on, not gathered", () => {
  const reader = new RecordReader();
  let longest = 0;
  let total = 0;
  for (let block = 0; block < 64; block++) {
    const output = reader.read(Buffer.alloc(64 * 1024, "x"));
    longest = Math.max(longest, output.length);
    total += output.length;
  }
  expect(total).toBeGreaterThan(3.5 * 1024 * 1024);
  expect(longest).toBeLessThan(512 * 1024);
});

test("the end of one file does not run into the next", () => {
  const reader = new RecordReader();
  expect(reader.read(Buffer.from(record("whole") + record("cut").trimEnd())).toString()).toBe("whole\n");
  expect(reader.end().toString()).toBe("cut");
  expect(reader.read(Buffer.from(record("next"))).toString()).toBe("next\n");
  expect(reader.end()).toHaveLength(0);
});

test("the caller may fill its block again", () => {
  const reader = new RecordReader();
  const block = Buffer.from(record("kept").trimEnd());
  reader.read(block);
  block.fill("?");
  expect(reader.read(Buffer.from("\n")).toString()).toBe("kept\n");
});
