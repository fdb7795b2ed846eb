import { expect, test } from "vitest";
import { LineCutter } from "./line-cutter.ts";

const at = (second: number): Buffer => Buffer.from(`${second} `);

function cut(chunks: readonly string[], most = 1024): string {
  const cutter = new LineCutter(most);
  const pages = chunks.map((chunk, index) => cutter.take(Buffer.from(chunk), at(index)));
  return Buffer.concat([...pages, cutter.end()].map((page) => page.bytes())).toString();
}

test.each([
  ["lines", ["one\ntwo\n"], "0 one\n0 two\n"],
  ["empty lines", ["\n\n"], "0 \n0 \n"],
  ["nothing", [""], ""],
  ["no end of the last line", ["one\ntwo"], "0 one\n0 two\n"],
  ["a line in pieces: it has the time of its beginning", ["on", "e", "\ntwo\n"], "0 one\n2 two\n"],
  ["line ends of Windows", ["one\r\ntwo\r", "\nthree\r"], "0 one\n0 two\n1 three\n"],
  ["a progress bar", ["10 %\r20 %", "\r30 %\r\nnext\n"], "0 30 %\n1 next\n"],
  ["a line that was overwritten with nothing", ["one\r\r\n"], "0 \n"],
  ["bytes of zero", ["a\0b\n"], "0 a\0b\n"],
])("%s", (_, chunks, expected) => {
  expect(cut(chunks)).toBe(expected);
});

test("a long line goes on in further lines of the same time, cut between characters", () => {
  expect(cut(["abcd", "efgh", "ij\n"], 4)).toBe("0 abcd\n0 efgh\n0 ij\n");
  expect(cut(["abcd\nef\n"], 4)).toBe("0 abcd\n0 ef\n");
  expect(cut(["aäää\n"], 4)).toBe("0 aä\n0 ää\n");
});

test("what a program overwrites for hours takes no more room than one message", () => {
  const cutter = new LineCutter(1024);
  for (let round = 0; round < 10_000; round++) expect(cutter.take(Buffer.from(`\r${round} %`), at(0)).lines).toBe(0);
  expect(cutter.end().bytes().toString()).toBe("0 9999 %\n");
});
