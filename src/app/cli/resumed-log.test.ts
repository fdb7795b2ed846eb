import { describe, expect, test } from "vitest";
import { FakeClock, SlipwayError } from "#lib/base/index.ts";
import type { LogOptions } from "#kernel/kit/index.ts";
import { ApiError, Pod } from "#kernel/model/index.ts";
import { followStepLog } from "./log-stream.ts";

const of = { type: Pod, namespace: "default", name: "p" };
const log = { step: "s", attempt: 1, of, uid: "u", container: "main", hasStarted: true };
const broken = () => new SlipwayError("connection-failed", "reset by peer");
const away = () => new SlipwayError("connection-refused", "no server listens");

/** What a server says to one request: so much of the log, then its end or an error. */
interface Answer {
  readonly text?: string;
  readonly fails?: Error;
  /** How long the connection holds after the text. */
  readonly after?: number;
}

/** Follows a log whose requests are answered one after the other, the last answer again and again. */
function following(answers: readonly Answer[], options: Pick<LogOptions, "tailLines" | "timestamps"> = {}) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const asked: LogOptions[] = [];
  let text = "";
  const client = {
    async *logs(_ref: unknown, request: LogOptions = {}) {
      const answer = answers[Math.min(asked.length, answers.length - 1)] ?? {};
      asked.push(request);
      // In small pieces, cut anywhere.
      const bytes = Buffer.from(answer.text ?? "");
      for (let at = 0; at < bytes.length; at += 3) yield bytes.subarray(at, at + 3);
      if (answer.after !== undefined) await new Promise<void>((resolve) => clock.after(answer.after ?? 0, resolve));
      if (answer.fails !== undefined) throw answer.fails;
    },
  };
  const done = (async () => {
    for await (const chunk of followStepLog(client, log, options, clock, stop.signal))
      text += Buffer.from(chunk).toString("latin1");
  })();
  done.catch(() => undefined);
  return { clock, stop, asked, done, text: () => Buffer.from(text, "latin1").toString() };
}

describe("a followed log", () => {
  test("goes on where it broke off, with nothing lost and nothing twice, also of equal lines", async () => {
    const whole = "tick\ntick\ntick\nhalf é and the rest\nend without one";
    const { clock, done, text, asked } = following([
      { text: "tick\ntick\nti", fails: broken() },
      { fails: away() },
      { text: "tick\n", fails: broken() },
      { text: "tick\ntick\ntick\nhalf ", fails: broken() },
      { text: whole },
    ]);
    await clock.advance(10_000);
    await done;
    expect(text()).toBe(whole);
    expect(asked).toHaveLength(5);
    expect(asked.every(({ follow, container }) => follow === true && container === "main")).toBe(true);
  });

  test("its tail goes on too, wherever the tail began", async () => {
    const { clock, done, text, asked } = following(
      [
        { text: "tick\ntick\ntick\n" },
        { text: "tick\ntick\ntick\ntick\n", fails: broken() },
        { text: "tick\ntick\ntick\ntick\nlast\n" },
      ],
      { tailLines: 1, timestamps: true },
    );
    await clock.advance(10_000);
    await done;
    expect(text()).toBe("tick\ntick\nlast\n");
    expect(asked.map(({ follow, tailLines, timestamps }) => ({ follow, tailLines, timestamps }))).toEqual([
      { timestamps: true },
      { follow: true, timestamps: true },
      { follow: true, timestamps: true },
    ]);
  });

  test("whose server stays away is given up after ten seconds", async () => {
    const { clock, done, text, asked } = following([{ text: "one\n", fails: broken() }, { fails: away() }]);
    await clock.advance(30_000);
    await expect(done).rejects.toThrow("no server listens");
    expect(text()).toBe("one\n");
    expect(asked).toHaveLength(21);
  });

  test("that breaks at once each time is given up, one whose connections hold for a while is not", async () => {
    const hasty = following([{ text: "one\n", fails: broken() }]);
    await hasty.clock.advance(60_000);
    await expect(hasty.done).rejects.toThrow("reset by peer");
    const quiet = following([
      ...Array.from({ length: 40 }, () => ({ text: "one\n", after: 15_000, fails: broken() })),
      { text: "one\ntwo\n" },
    ]);
    await quiet.clock.advance(40 * 20_000);
    await quiet.done;
    expect(quiet.text()).toBe("one\ntwo\n");
  });

  test.each([
    ["the credential is refused", new ApiError("Unauthorized", "who are you")],
    ["reading is not allowed any more", new ApiError("Forbidden", "no")],
    ["the container is gone", new ApiError("NotFound", "gone")],
  ])("ends with the refusal when %s", async (_when, refusal) => {
    const { clock, done, asked } = following([{ text: "one\n", fails: broken() }, { fails: refusal }]);
    await clock.advance(1_000);
    await expect(done).rejects.toBe(refusal);
    expect(asked).toHaveLength(2);
  });

  test("whose beginning is gone is refused, instead of going on somewhere", async () => {
    const { clock, done, text } = following([{ text: "one\ntwo\n", fails: broken() }, { text: "two\nthree\nfour\n" }]);
    await clock.advance(1_000);
    await expect(done).rejects.toMatchObject({ code: "log-changed" });
    expect(text()).toBe("one\ntwo\n");
  });

  test("that is not there is empty, once", async () => {
    for (const refusal of [new ApiError("BadRequest", "waiting to start"), new ApiError("NotFound", "gone")]) {
      const { done, text } = following([{ fails: refusal }]);
      await done;
      expect(text()).toBe("");
    }
  });

  test("ends with the signal, also while it waits", async () => {
    const { clock, done, stop } = following([{ fails: away() }]);
    await clock.advance(100);
    stop.abort(new Error("enough"));
    await expect(done).rejects.toThrow("enough");
  });
});
