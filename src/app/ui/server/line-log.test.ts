import { expect, test } from "vitest";
import type { LogOptions } from "#kernel/kit/index.ts";
import { Pod } from "#kernel/model/index.ts";
import { LineLog } from "./line-log.ts";

const signal = new AbortController().signal;
const step = { step: "a", attempt: 1, of: { type: Pod, name: "p" }, uid: "u", container: "c", hasStarted: true };

/** A log with a line every millisecond, of a server that rounds `sinceTime` to seconds. */
function longLog(count: number) {
  const at = (line: number) => new Date(line).toISOString();
  let read = 0;
  async function* logs(_ref: unknown, { sinceTime }: LogOptions = {}): AsyncGenerator<Uint8Array, void> {
    const since = sinceTime === undefined ? 0 : Math.floor(Date.parse(sinceTime) / 1000) * 1000;
    for (let line = since; line < count; line += 1) {
      read += 1;
      yield Buffer.from(`${at(line)} line ${line}\n`);
    }
  }
  return { logs, taken: () => read };
}

async function numbersFrom(log: LineLog, client: ReturnType<typeof longLog>, from: number, count: number) {
  const found: string[] = [];
  for await (const { number, line } of log.lines(client, from, signal)) {
    if (found.length === count) break;
    found.push(`${number}: ${line.text}`);
  }
  return found;
}

test("lines are found by number, from the nearest mark and not from the start", async () => {
  const client = longLog(10_000);
  const log = new LineLog(step);
  expect(await log.count(client, signal)).toBe(10_000);
  const before = client.taken();
  expect(await numbersFrom(log, client, 9500, 2)).toEqual(["9500: line 9500", "9501: line 9501"]);
  expect(client.taken() - before).toBeLessThan(1500);
  expect(await numbersFrom(log, client, 0, 1)).toEqual(["0: line 0"]);
  expect(await log.count(client, signal)).toBe(10_000);
});
