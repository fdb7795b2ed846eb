import { afterEach, beforeEach, expect, test } from "vitest";
import { judgeEvent } from "./events.ts";
import type { WorkflowState } from "./state.ts";
import { Harness, planOf } from "./testing/harness.ts";
import { settings } from "./testing/states.ts";
import { dispatch } from "./transitions.ts";

// Somebody corrects the clock by an hour while a workflow is under way.

const hour = 3_600_000;
let here: Harness;
beforeEach(async () => {
  here = new Harness();
});
afterEach(() => here.close());

/** Prepared, with an hour and a half for the whole. */
async function prepared(): Promise<void> {
  await here.template(planOf(["one"], { globalTimeout: (1.5 * hour) / 1000 }));
  await here.workflow({ templateRef: "t" }, { finalizers: ["example.com/keep"] });
}
const told = (state: WorkflowState): WorkflowState =>
  dispatch(state, { agentID: "agent-a", protocol: "stream" }, here.clock.now(), settings).state;
const begun = (state: WorkflowState): WorkflowState => {
  const [action] = state.actions;
  const context = { now: here.clock.now(), settings, protocol: "stream", hasPostSteps: false, seed: "uid" } as const;
  return judgeEvent(told(state), { is: "started", action: action?.id ?? "" }, context).state ?? state;
};

const cases: Readonly<Record<string, () => Promise<void>>> = {
  Pending: prepared,
  Scheduled: async () => {
    await prepared();
    await here.change(told);
  },
  Running: async () => {
    await prepared();
    await here.change(begun);
  },
  Cancelling: async () => {
    await prepared();
    await here.change(begun);
    await here.delete();
  },
};

test.each(Object.keys(cases))(
  "a clock that is set back by an hour changes nothing of a workflow that is %s",
  async (phase) => {
    await cases[phase]?.();
    const before = await here.read();
    expect((await here.state()).phase).toBe(phase);
    here.clock.jump(here.clock.now() - hour);
    await here.pass(0.5 * hour);
    expect(await here.read()).toEqual(before);
  },
);

test.each([
  ["Pending", { phase: "Pending" }],
  ["Scheduled", { phase: "Failed", reason: "ScheduledTimeout" }],
  ["Running", { phase: "Running" }],
  ["Cancelling", { phase: "Canceled", reason: "CancelTimeout" }],
] as const)(
  "a clock that is set ahead by an hour ends of a workflow that is %s what that time has passed",
  async (phase, after) => {
    await cases[phase]?.();
    expect((await here.state()).phase).toBe(phase);
    here.clock.jump(here.clock.now() + hour);
    await here.pass(Math.max(settings.scheduledTimeout, settings.cancellingTimeout));
    expect(await here.state()).toMatchObject(after);
  },
);

test("a workflow that was set ahead ends by its own timeout, as the clock tells it", async () => {
  await cases["Running"]?.();
  here.clock.jump(here.clock.now() + hour);
  await here.pass(0.4 * hour);
  expect((await here.state()).phase).toBe("Running");
  here.clock.jump(here.clock.now() - hour);
  await here.pass(hour);
  expect((await here.state()).phase).toBe("Running");
  await here.pass(0.2 * hour);
  expect(await here.state()).toMatchObject({ phase: "Failed", reason: "WorkflowTimeout" });
});
