import { afterEach, beforeEach, expect, test } from "vitest";
import { judgeEvent } from "./events.ts";
import { Harness, planOf } from "./testing/harness.ts";
import { settings } from "./testing/states.ts";
import { beginCancel, dispatch, reject, succeed } from "./transitions.ts";

// An administrator, or a time server, sets the clock of the controller by an hour: line 39 of the acceptance list.

const hour = 3_600_000;
const taker = { agentID: "agent-a", protocol: "stream" } as const;

let here = new Harness();
beforeEach(() => {
  here = new Harness();
});
afterEach(() => here.close());

/** A workflow of two actions with these seconds each, and this many for the whole. */
async function prepared(seconds: number, globalTimeout = 0): Promise<void> {
  const plan = planOf(["one", "two"], { globalTimeout });
  const tasks = plan.tasks.map((task) => ({
    ...task,
    actions: task.actions.map((action) => ({ ...action, timeout: seconds })),
  }));
  await here.template({ ...plan, tasks });
  await here.workflow();
}
const scheduled = () => here.change((state) => dispatch(state, taker, here.clock.now(), settings).state);
const tell = (is: "started" | "succeeded", at: number) =>
  here.change((state) => {
    const context = { now: here.clock.now(), settings, protocol: "stream", hasPostSteps: false, seed: "uid" } as const;
    return judgeEvent(state, { is, action: state.actions[at]?.id ?? "" }, context).state ?? state;
  });
async function running(seconds: number, globalTimeout = 0): Promise<void> {
  await prepared(seconds, globalTimeout);
  await scheduled();
  await tell("started", 0);
}

interface Row {
  readonly name: string;
  readonly begin: () => Promise<void>;
  /** The state when the clock was set, and after an hour set forth. */
  readonly before: string;
  readonly forth: string;
  readonly reason?: string;
}

const rows: readonly Row[] = [
  { name: "Pending", begin: () => prepared(0), before: "PENDING", forth: "PENDING" },
  {
    name: "Pending in backoff",
    async begin() {
      await prepared(0);
      await scheduled();
      await here.change((state) => reject(state, { message: "busy" }, here.clock.now(), settings, "uid").state);
    },
    before: "PENDING",
    forth: "PENDING",
  },
  {
    name: "Scheduled",
    async begin() {
      await prepared(0);
      await scheduled();
    },
    before: "PENDING",
    forth: "FAILED",
    reason: "ScheduledTimeout",
  },
  { name: "Running without a limit", begin: () => running(0), before: "RUNNING", forth: "RUNNING" },
  { name: "Running with two hours", begin: () => running(7_200, 7_200), before: "RUNNING", forth: "RUNNING" },
  {
    name: "Running, half an hour for the action",
    begin: () => running(1_800),
    before: "RUNNING",
    forth: "TIMEOUT",
    reason: "ActionTimeout",
  },
  {
    name: "Running, half an hour for the whole",
    begin: () => running(0, 1_800),
    before: "RUNNING",
    forth: "TIMEOUT",
    reason: "WorkflowTimeout",
  },
  {
    name: "Cancelling",
    async begin() {
      await running(0);
      await here.change((state) => beginCancel(state, "User", here.clock.now(), settings).state);
    },
    before: "CANCELLING",
    forth: "CANCELED",
    reason: "CancelTimeout",
  },
  {
    name: "Succeeded",
    async begin() {
      await running(0);
      for (const [is, at] of [
        ["succeeded", 0],
        ["started", 1],
        ["succeeded", 1],
      ] as const)
        await tell(is, at);
    },
    before: "SUCCESS",
    forth: "SUCCESS",
  },
];

test.each(rows.map((row) => [row.name, row] as const))(
  "a clock that is set back by an hour changes nothing of a workflow that is %s",
  async (_name, { begin, before, forth }) => {
    await begin();
    const state = await here.state();
    expect(await here.status()).toMatchObject({ state: before });
    here.clock.jump(here.clock.now() - hour);
    // All timers of before run out meanwhile.
    await here.pass(hour - 1_000);
    expect(await here.state()).toEqual(state);
    await here.pass(hour + 1_000);
    expect(await here.status()).toMatchObject({ state: forth });
  },
);

test.each(rows.map((row) => [row.name, row] as const))(
  "a clock that is set ahead by an hour ends of a workflow that is %s what that time has passed",
  async (_name, { begin, before, forth, reason }) => {
    await begin();
    expect(await here.status()).toMatchObject({ state: before });
    here.clock.jump(here.clock.now() + hour);
    // What is over is found when it is looked at: at the next change, or when the timer of before runs out.
    await here.change((state) => ({ ...state, dispatch: { ...state.dispatch, attempt: state.dispatch.attempt + 1 } }));
    expect(await here.status()).toMatchObject({ state: forth });
    expect((await here.status())["failureReason"]).toBe(reason);
  },
);

test("a workflow that was set ahead ends by its own timeout, as the clock tells it", async () => {
  await running(0, 5_400);
  here.clock.jump(here.clock.now() + hour);
  await here.pass(0.4 * hour);
  expect((await here.state()).phase).toBe("Running");
  here.clock.jump(here.clock.now() - hour);
  await here.pass(hour);
  expect((await here.state()).phase).toBe("Running");
  await here.pass(0.2 * hour);
  expect(await here.state()).toMatchObject({ phase: "Failed", reason: "WorkflowTimeout" });
});

test("a clock that is set back in the middle of a workflow makes no time negative", async () => {
  await running(0);
  here.clock.jump(here.clock.now() - hour);
  for (const [is, at] of [
    ["succeeded", 0],
    ["started", 1],
    ["succeeded", 1],
  ] as const)
    await tell(is, at);
  expect(await here.status()).toMatchObject({ state: "SUCCESS" });
  expect(JSON.stringify(await here.status())).not.toMatch(/Duration":"-/);
  const state = await here.state();
  expect(succeed(state, here.clock.now()).notices[0]?.message).toBe("all actions have succeeded after 0 s");
});
