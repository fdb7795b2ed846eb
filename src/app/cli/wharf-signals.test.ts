import { describe, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import type { EndSignal } from "./command.ts";
import { watchSignals } from "./wharf-signals.ts";

test("a fault of ours that is about to end the process ends the steps first", () => {
  let abandon: () => void = () => undefined;
  let kills = 0;
  const own = {
    takeOver: (_: unknown, abandoned: () => void) => void (abandon = abandoned),
    exit: () => undefined,
  };
  watchSignals(own, { clock: new FakeClock(), graceMs: 0, kill: () => void (kills += 1), tell: () => undefined });
  expect(kills).toBe(0);
  abandon();
  expect(kills).toBe(1);
});

describe("the code of a cancelled build", () => {
  const watched = () => {
    let signalled: (signal: EndSignal) => void = () => undefined;
    const own = { takeOver: (taken: typeof signalled) => void (signalled = taken), exit: () => undefined };
    const signals = watchSignals(own, {
      clock: new FakeClock(),
      graceMs: 0,
      kill: () => undefined,
      tell: () => undefined,
    });
    return { signals, signal: (name: EndSignal) => signalled(name) };
  };

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

  test("is not that of a signal after its end", () => {
    const { signals, signal } = watched();
    void signals.next();
    signal("SIGTERM");
    expect(signals.code()).toBeUndefined();
  });
});
