import { expect, test } from "vitest";
import { deferred, FakeClock } from "#lib/base/index.ts";
import type { LogPage } from "../log-store/read-page.ts";
import { lineOf } from "../log-store/testing/log-lines.ts";
import { eventStream } from "./event-stream.ts";

const page: LogPage = {
  lines: [{ logId: 7, ...lineOf(1, 3, "\n\u2028"), message: "a\nb" }],
  next: { after: 7, offsets: new Map() },
};

test("silence is broken every 15 s, and a line of several is one line of the stream", async () => {
  const clock = new FakeClock();
  const more = deferred<void>();
  async function* pages(): AsyncGenerator<LogPage, void> {
    await more.promise;
    yield page;
  }
  const stream = eventStream(5, pages(), clock);
  const next = async (): Promise<string> => String((await stream.next()).value);
  expect(await next()).toMatch(/^:.*\n\n$/);
  for (let round = 0; round < 3; round++) {
    let text = "";
    void next().then((found) => (text = found));
    await clock.advance(14_999);
    expect(text).toBe("");
    await clock.advance(1);
    expect(text).toBe(": ping\n\n");
  }
  more.resolve();
  const json = JSON.stringify({
    logId: 7,
    buildId: 5,
    message: "a\nb",
    timestamp: "2023-11-14T22:13:23.123456789Z",
    workerStepId: 1,
    workerLogId: 3,
  });
  expect(await next()).toBe(`id: 7\nevent: message\ndata: ${json}\n\n`);
  expect(await next()).toBe('event: end\ndata: {"buildId":5}\n\n');
  expect((await stream.next()).done).toBe(true);
});

test("what cuts the pages off cuts the stream off", async () => {
  const clock = new FakeClock();
  // oxlint-disable-next-line require-yield
  async function* pages(): AsyncGenerator<LogPage, void> {
    throw new Error("removed");
  }
  const stream = eventStream(5, pages(), clock);
  await stream.next();
  await expect(stream.next()).rejects.toThrow("removed");
});
