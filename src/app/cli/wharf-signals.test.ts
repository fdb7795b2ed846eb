import { expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
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
