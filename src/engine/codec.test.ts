import fc from "fast-check";
import { expect, test } from "vitest";
import { codecViolation, newRun, type RunState, type StateCodec } from "./index.ts";
import { plans, turns } from "./testing/arbitraries.ts";
import { play } from "./testing/history.ts";

/** A status as a dialect may keep it: other names, and fields of its own. */
interface Status {
  readonly state?: RunState["phase"];
  readonly rest?: Omit<RunState, "phase">;
  readonly [other: string]: unknown;
}

const good: StateCodec<Status> = {
  decode: ({ state = "Pending", rest }) => ({ ...newRun, ...rest, phase: state }),
  encode: ({ phase, ...rest }, before) => ({ ...before, state: phase, rest }),
};

test("(28) a codec that keeps what it does not know obeys the law on every status the engine writes", () => {
  fc.assert(
    fc.property(plans(), turns(), fc.string(), (plan, script, own) => {
      for (const { result } of play(plan, script)) {
        const stored = good.encode(result.run, { agent: own });
        expect(codecViolation(good, stored)).toBeUndefined();
        expect(good.decode(stored)).toEqual(result.run);
      }
    }),
    { numRuns: 50 },
  );
});

test("(28) a codec that forgets a field is found out, with both texts", () => {
  const forgetful: StateCodec<Status> = { ...good, encode: ({ phase, ...rest }) => ({ state: phase, rest }) };
  const stored = good.encode(newRun, { agent: "host-7" });
  expect(codecViolation(forgetful, stored)).toContain('stored  {"agent":"host-7"');
});

test("the order of keys is no difference", () => {
  const turned: StateCodec<Status> = {
    ...good,
    encode: ({ phase, ...rest }, before) => ({ rest, state: phase, ...before }),
  };
  expect(codecViolation(turned, good.encode(newRun, { agent: "host-7" }))).toBeUndefined();
});
