import { expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { Informer } from "#kernel/kit/index.ts";
import { memoryClient, seededRandom } from "#kernel/kit/testing/index.ts";
import { Workflow, WorkflowV2 } from "../kinds.ts";
import { type AnyWorkflow, storeState } from "../stored.ts";
import { pending } from "../testing/states.ts";
import { dispatch, fail, letGo, startAction, succeed } from "../transitions.ts";
import { begin, settings } from "../testing/states.ts";
import type { WorkflowState } from "../state.ts";
import { WorkflowMirror } from "./workflow-mirror.ts";

/** The mirror of workflows of these states, by name. */
async function mirrorOf(states: Readonly<Record<string, WorkflowState>>) {
  const clock = new FakeClock();
  const client = memoryClient({ clock, types: [Workflow, WorkflowV2] });
  for (const [name, state] of Object.entries(states)) {
    const isB = state.shape === "B";
    const spec = isB ? { templateRef: { name: "t" }, hardwareRef: { name: "h" } } : { templateRef: "t" };
    const type = isB ? WorkflowV2 : Workflow;
    const version = isB ? "v1alpha2" : "v1alpha1";
    const document = {
      apiVersion: `tinkerbell.org/${version}`,
      kind: "Workflow",
      metadata: { name, namespace: "default" },
      spec,
    };
    await storeState(client, await client.create<AnyWorkflow>(type, document), state, clock.now());
  }
  const informer = new Informer<AnyWorkflow>({
    client,
    type: Workflow,
    clock,
    log: silentLog,
    random: seededRandom(1),
  });
  const mirror = new WorkflowMirror(informer);
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  await mirror.synced(stop.signal);
  stop.abort();
  await running;
  return mirror;
}

const namesOf = (found: readonly { readonly key: string }[]) =>
  found.map(({ key }) => key.replace("default/", "")).toSorted((a, b) => (a < b ? -1 : 1));
const told = dispatch(pending(), { agentID: "agent-a", protocol: "stream" }, begin, settings).state;
const failed = fail(told, { reason: "ScheduledTimeout", message: "late", isFree: false }, begin, settings).state;

/** What the server asks of an agent's workflows. */
const askOf = (mirror: WorkflowMirror, key: string) => ({
  held: namesOf(mirror.queueOf(key).held),
  oldest: mirror.queueOf(key).oldest?.key.replace("default/", ""),
  hasUnfinished: mirror.hasUnfinished(key),
});

test("an agent is looked up by whose turn it is and by who was told, in any spelling, in both shapes", async () => {
  const key = "02:00:00:00:00:0a";
  const moved = { ...told, agentID: "other", dispatch: { ...told.dispatch, agentID: key } };
  const other = pending();
  const shaped = pending({ agentID: "02-00-00-00-00-0a", shape: "B" });
  expect(askOf(await mirrorOf({ shaped, moved, other }), key)).toEqual({
    held: ["moved"],
    oldest: "shaped",
    hasUnfinished: true,
  });
  expect(askOf(await mirrorOf({ mine: pending({ agentID: "02:00:00:00:00:0A" }), other }), key)).toMatchObject({
    held: [],
    oldest: "mine",
  });
  expect(askOf(await mirrorOf({ moved, other }), key)).toEqual({ held: ["moved"], hasUnfinished: false });
});

test("what has ended is looked at only as long as its agent is held", async () => {
  const done = succeed(told, begin).state;
  const ended = { done, shaped: { ...done, shape: "B" }, free: letGo(failed).state } as const;
  expect(askOf(await mirrorOf(ended), "agent-a")).toEqual({ held: [], hasUnfinished: false });
  expect(askOf(await mirrorOf({ ...ended, held: failed }), "agent-a")).toEqual({
    held: ["held"],
    hasUnfinished: false,
  });
});

test("a part for another agent waits for that one, and what is at work waits for nobody", async () => {
  const [first] = told.actions;
  const running = first === undefined ? told : startAction(told, first, begin).state;
  const mirror = await mirrorOf({ running });
  expect(askOf(mirror, "agent-a")).toEqual({ held: ["running"], hasUnfinished: true });
  const next = pending({ phase: "Running", agentID: "agent-b" });
  expect(askOf(await mirrorOf({ next }), "agent-b")).toEqual({ held: [], oldest: "next", hasUnfinished: true });
});
