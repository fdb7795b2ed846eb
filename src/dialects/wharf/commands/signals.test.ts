import { describe, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import type { EndSignal } from "#kernel/command/index.ts";
import { type BuildOver, watchSignals } from "./signals.ts";

/** A build whose signals are watched, and the process that it is in. */
function watched({ graceMs }: { readonly graceMs: number | undefined } = { graceMs: 10_000 }) {
  const heard: { signalled: (signal: EndSignal) => void; abandon: () => void } = {
    signalled: () => undefined,
    abandon: () => undefined,
  };
  const [exits, told]: [number[], string[]] = [[], []];
  const build: { over: BuildOver | undefined; kills: number } = { over: undefined, kills: 0 };
  const clock = new FakeClock();
  const own = {
    outliveOutputs: () => undefined,
    takeOver: (signalled: typeof heard.signalled, abandon: typeof heard.abandon) =>
      void Object.assign(heard, { signalled, abandon }),
    exit: (code: number) => void exits.push(code),
  };
  const signals = watchSignals(own, {
    clock,
    graceMs,
    kill: () => void (build.kills += 1),
    tell: (text) => void told.push(text),
    ended: () => build.over,
  });
  return {
    signals,
    signal: (name: EndSignal) => heard.signalled(name),
    abandon: () => heard.abandon(),
    exits,
    told,
    build,
    clock,
  };
}

test("a fault of ours that is about to end the process ends the steps first", () => {
  const { build, abandon } = watched();
  expect(build.kills).toBe(0);
  abandon();
  expect(build.kills).toBe(1);
});

describe("the code of a cancelled build", () => {
  test("is that of the signal that has cancelled it", () => {
    const { signals, signal } = watched();
    expect(signals.code()).toBeUndefined();
    signal("SIGHUP");
    expect(signals.code()).toBe(129);
  });

  test("is not that of a signal after somebody else has cancelled it, however soon it comes", async () => {
    const { signals, signal } = watched();
    signals.cancel("cancelled over the network");
    signal("SIGTERM");
    expect(signals.code()).toBeUndefined();
    await signals.next();
  });
});

describe("a signal while a build goes on", () => {
  test("cancels it; a second one ends the process at once, with a code of its own", () => {
    const { signals, signal, exits, told, build } = watched();
    signal("SIGINT");
    expect([signals.cancelled.aborted, told.length, exits]).toEqual([true, 1, []]);
    signal("SIGINT");
    expect([exits, build.kills]).toEqual([[2], 1]);
  });

  test("ends the process some time after the grace, unless the build has come to its end", async () => {
    const [stuck, ends] = [watched(), watched()];
    for (const { signal } of [stuck, ends]) signal("SIGTERM");
    ends.build.over = { code: 143, isWhole: true };
    for (const { clock } of [stuck, ends]) await clock.advance(19_999);
    expect([stuck.exits, ends.exits]).toEqual([[], []]);
    for (const { clock } of [stuck, ends]) await clock.advance(1);
    expect([stuck.exits, ends.exits]).toEqual([[3], []]);
  });
});

test("a build with stages that run after a cancel ends when they have", async () => {
  const { signal, exits, clock } = watched({ graceMs: undefined });
  signal("SIGTERM");
  await clock.advance(3_600_000);
  expect(exits).toEqual([]);
});

describe("a signal after a build", () => {
  test("cancels nothing, says nothing, and is what somebody waits for who stays", async () => {
    const { signals, signal, exits, told, build } = watched();
    build.over = { code: 1, isWhole: true };
    const next = signals.next();
    signal("SIGTERM");
    await next;
    expect([signals.cancelled.aborted, signals.code(), told, exits]).toEqual([false, undefined, [], []]);
  });

  test("that comes again ends what goes on after it, with the code of the build", () => {
    const { signal, exits, told, build } = watched();
    signal("SIGTERM");
    // Its end can be read, and its scratch is being removed.
    build.over = { code: 143, isWhole: false };
    signal("SIGTERM");
    expect([exits, told.length]).toEqual([[], 2]);
    build.over = { code: 143, isWhole: true };
    signal("SIGTERM");
    expect([exits, build.kills]).toEqual([[143], 0]);
  });

  test("is not kept waiting by its scratch when it is the third, and says so with the second", async () => {
    const { signal, exits, told, build, clock } = watched();
    signal("SIGINT");
    build.over = { code: 130, isWhole: false };
    await clock.advance(3_600_000);
    signal("SIGINT");
    expect(exits).toEqual([]);
    expect(told.at(-1)).toBe(
      "slipway: the build has ended and its scratch is being removed; interrupt again to exit now\n",
    );
    signal("SIGINT");
    expect([exits, build.kills]).toEqual([[130], 0]);
  });

  test("that it did not cancel is counted, too", () => {
    const { signal, exits, told, build } = watched();
    build.over = { code: 0, isWhole: false };
    for (let sent = 0; sent < 2; sent++) signal("SIGTERM");
    expect([exits, told.length]).toEqual([[], 1]);
    signal("SIGTERM");
    expect([exits, build.kills]).toEqual([[0], 0]);
  });
});
