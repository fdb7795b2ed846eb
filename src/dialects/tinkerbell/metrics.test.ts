import { afterEach, beforeEach, expect, test } from "vitest";
import { judgeEvent } from "./events.ts";
import { Template } from "./kinds.ts";
import { Harness, namespace, planOf } from "./testing/harness.ts";
import { settings } from "./testing/states.ts";
import { dispatch } from "./transitions.ts";

let here = new Harness();
beforeEach(async () => {
  here = new Harness();
  await here.template(planOf(["one"]));
  await here.workflow();
});
afterEach(() => here.close());

const taker = { agentID: "agent-a", protocol: "stream" } as const;
const scheduled = () => here.change((state) => dispatch(state, taker, here.clock.now(), settings).state);
const tell = (is: "started" | "succeeded") =>
  here.change((state) => {
    const context = { now: here.clock.now(), settings, protocol: "stream", hasPostSteps: false, seed: "u" } as const;
    return judgeEvent(state, { is, action: state.actions[0]?.id ?? "" }, context).state ?? state;
  });

/** Samples and sums of one family, as text. */
const family = (name: string): string => {
  const found = here.metrics.collect().find((one) => one.name === name);
  return JSON.stringify(
    found?.type === "histogram"
      ? found.distributions.map(({ labels, sum, buckets }) => ({ labels, sum, count: buckets.at(-1)?.count }))
      : found?.samples,
  );
};

test("workflows are counted by state, and the oldest that waits by its age", async () => {
  await here.pass(5000);
  expect(family("slipway_tink_workflows")).toBe('[{"labels":{"state":"Pending"},"value":1}]');
  expect(family("slipway_tink_pending_age_seconds")).toBe('[{"labels":{},"value":5}]');
  await scheduled();
  expect(family("slipway_tink_workflows")).toBe('[{"labels":{"state":"Scheduled"},"value":1}]');
  expect(family("slipway_tink_pending_age_seconds")).toBe('[{"labels":{},"value":0}]');
});

test("workflows and actions that end are counted once, with the time they took", async () => {
  await scheduled();
  await tell("started");
  await here.pass(3000);
  await tell("succeeded");
  await here.pass(1000);
  const once = '[{"labels":{"result":"Succeeded"},"sum":3,"count":1}]';
  expect(family("slipway_tink_workflow_duration_seconds")).toBe(once);
  expect(family("slipway_tink_action_duration_seconds")).toBe(once);
  expect(family("slipway_tink_timeouts_total")).toBe("[]");
});

test("a template that stays wrong is one failure, and another mistake is another one", async () => {
  expect(family("slipway_tink_render_failures_total")).toBe("[]");
  await here.delete();
  await here.pass(1000);
  await here.template("fail: no", "wrong");
  await here.workflow({ templateRef: "wrong" });
  await here.pass(700_000);
  expect(family("slipway_tink_render_failures_total")).toBe('[{"labels":{},"value":1}]');
  await here.store.patch(
    { type: Template, namespace, name: "wrong" },
    { type: "merge", body: { spec: { data: "fail: not so either" } } },
  );
  await here.settle();
  expect(family("slipway_tink_render_failures_total")).toBe('[{"labels":{},"value":2}]');
});

test("times that have ended workflows are counted by which", async () => {
  await scheduled();
  await here.pass(settings.scheduledTimeout + 1000);
  expect(family("slipway_tink_timeouts_total")).toBe('[{"labels":{"kind":"scheduled"},"value":1}]');
});
