import { expect, test } from "vitest";
import { LineStarts } from "./line-starts.ts";

/** A log in memory that counts the bytes that were read. */
function logOf(text: () => string) {
  let read = 0;
  const logs = {
    async *read(_name: string, start = 0, end = Number.POSITIVE_INFINITY): AsyncGenerator<Buffer, void> {
      const bytes = Buffer.from(text()).subarray(start, end);
      read += bytes.length;
      for (let at = 0; at < bytes.length; at += 777) yield bytes.subarray(at, at + 777);
    },
  };
  return { logs, bytesRead: () => read };
}

test("a line is found from the nearest thousandth before it, and bytes are looked at once", async () => {
  let text = Array.from({ length: 5500 }, (_, line) => `line ${line}\n`).join("");
  const { logs, bytesRead } = logOf(() => text);
  const starts = new LineStarts();
  const at = await starts.before(logs, "job", text.length, 4321);
  expect(text.slice(at, at + 9)).toBe("line 4000");
  expect(bytesRead()).toBe(text.length);
  expect(await starts.lineAt(logs, "job", text.length, text.indexOf("line 4321"))).toBe(4321);
  expect(bytesRead()).toBeLessThan(text.length + 5000);
  const before = bytesRead();
  text += Array.from({ length: 600 }, (_, line) => `line ${5500 + line}\n`).join("");
  const later = await starts.before(logs, "job", text.length, 6050);
  expect(text.slice(later, later + 9)).toBe("line 6000");
  expect(bytesRead() - before).toBeLessThan(7000);
  expect(await starts.before(logs, "job", text.length, 1e9)).toBe(later);
});
