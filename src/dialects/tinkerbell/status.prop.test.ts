import fc from "fast-check";
import { expect, test } from "vitest";
import { type AgentEvent, judgeEvent } from "./events.ts";
import { restoredPhase } from "./status/integrity.ts";
import { resume } from "./reconnect.ts";
import { isTerminal, type WorkflowState } from "./state.ts";
import { decodeV1, encodeV1 } from "./status/v1.ts";
import { decodeV2, encodeV2 } from "./status/v2.ts";
import { supervise } from "./reconcile/supervise.ts";
import { action, begin, pending, settings } from "./testing/states.ts";
import { awaitsDispatch } from "./state.ts";
import { dispatch } from "./transitions.ts";

const taker = { agentID: "agent-a", protocol: "stream" } as const;
const ids = ["id-one", "id-two", "id-three", "id-none"];

const event: fc.Arbitrary<AgentEvent> = fc.oneof(
  fc.record({ is: fc.constant("started" as const), action: fc.constantFrom(...ids) }),
  fc.record({ is: fc.constant("succeeded" as const), action: fc.constantFrom(...ids) }),
  fc.record({
    is: fc.constant("failed" as const),
    action: fc.constantFrom(...ids),
    reason: fc.constantFrom("NonZeroExit", "Canceled"),
    message: fc.string(),
  }),
  fc.record({ is: fc.constant("rejected" as const), message: fc.string() }),
);

/** Anything that may happen to a workflow, in any order. */
const happening = fc.oneof(
  { weight: 6, arbitrary: event.map((value) => ({ is: "event" as const, value })) },
  { weight: 3, arbitrary: fc.constant({ is: "dispatch" as const }) },
  fc.constantFrom("running", "interrupted", "none").map((said) => ({ is: "back" as const, said })),
  fc
    .constantFrom({ isDeleted: false }, { isDeleted: true }, { isDeleted: false, cancelBy: "CLI" as const })
    .map((asked) => ({ is: "supervise" as const, asked })),
);
const story = fc.array(fc.tuple(happening, fc.integer({ min: 0, max: 70_000 })), { maxLength: 40 });

const workflow = (shape: "A" | "B"): WorkflowState =>
  pending({
    shape,
    ...(shape === "A" ? {} : { otherAgentIDs: ["agent-y", "agent-z"] }),
    timeout: 300_000,
    actions: [
      action("one", { timeout: shape === "A" ? 30_000 : 0 }),
      action("two", { env: { A: "1" } }),
      action("three", { pid: "host" }),
    ].map((one) => (shape === "A" ? one : { ...one, task: { id: "", name: "", agentID: "agent-a" } })),
  });

type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never;

function next(state: WorkflowState, happened: Happening, now: number): WorkflowState {
  if (happened.is === "event") {
    const context = { now, settings, protocol: "stream", hasPostSteps: false, seed: "uid" } as const;
    return judgeEvent(state, happened.value, context).state ?? state;
  }
  if (happened.is === "dispatch") return awaitsDispatch(state) ? dispatch(state, taker, now, settings).state : state;
  if (happened.is === "supervise") return supervise(state, happened.asked, now, settings)?.state ?? state;
  return state.dispatch.held ? (resume(state, happened.said, taker, now, settings).move?.state ?? state) : state;
}

/** Every state on the way of a story. */
function told(shape: "A" | "B", happenings: readonly (readonly [Happening, number])[]): readonly WorkflowState[] {
  const states = [workflow(shape)];
  let now = begin;
  for (const [happened, later] of happenings) {
    now += later;
    states.push(next(states.at(-1) ?? workflow(shape), happened, now));
  }
  return states;
}

test.each([
  ["A", (state: WorkflowState) => decodeV1(encodeV1(state, {}, begin))],
  ["B", (state: WorkflowState) => decodeV2(encodeV2(state, {}, begin), state.timeout / 1000)],
] as const)("a status of shape %s tells the whole state", (shape, throughStatus) => {
  fc.assert(
    fc.property(story, (happenings) => {
      for (const state of told(shape, happenings)) expect(throughStatus(state)).toEqual(state);
    }),
  );
});

test("what a status has besides is kept", () => {
  const before = { state: "PENDING", x: 1, tasks: [{ id: "task-agent-a", y: 2, actions: [{ id: "id-one", z: 3 }] }] };
  const after = encodeV1(workflow("A"), before, begin);
  expect(after).toMatchObject({ x: 1, tasks: [{ y: 2, actions: [{ z: 3 }, {}, {}] }] });
});

test("whatever happens, an end stays, results stay, attempts only grow, and one action runs at most", () => {
  fc.assert(
    fc.property(fc.constantFrom("A" as const, "B" as const), story, (shape, happenings) => {
      const states = told(shape, happenings);
      for (const [at, after] of states.entries()) {
        const before = states[at - 1];
        expect(after.actions.filter(({ phase }) => phase === "Running").length).toBeLessThanOrEqual(1);
        if (before === undefined) continue;
        if (isTerminal(before.phase)) expect(after.phase).toBe(before.phase);
        if (isTerminal(before.phase)) expect(after.actions).toBe(before.actions);
        for (const [index, old] of before.actions.entries()) {
          const now = after.actions[index];
          expect(now?.attempts).toBeGreaterThanOrEqual(old.attempts);
          expect((now?.attempts ?? 0) - old.attempts).toBeLessThanOrEqual(1);
          if (old.phase === "Succeeded" || old.phase === "Failed") expect(now).toBe(old);
        }
      }
    }),
  );
});

test("whatever happens, the phase is one that can be", () => {
  fc.assert(
    fc.property(fc.constantFrom("A" as const, "B" as const), story, (shape, happenings) => {
      for (const state of told(shape, happenings)) expect(restoredPhase(state)).toBeUndefined();
    }),
  );
});

test("an ended workflow has no action that runs, and lets its agent go in the end", () => {
  fc.assert(
    fc.property(story, (happenings) => {
      const last = told("A", happenings).at(-1);
      if (last === undefined || !isTerminal(last.phase)) return;
      expect(last.actions.filter(({ phase }) => phase === "Running")).toEqual([]);
      const later = supervise(last, { isDeleted: false }, begin + 1e10, settings)?.state ?? last;
      expect(later.dispatch.held).toBe(false);
    }),
  );
});

test("a status of shape A that is told once more keeps what it says of tasks as the very object, and so does an action that did not change", () => {
  fc.assert(
    fc.property(story, (happenings) => {
      const states = told("A", happenings);
      let status = encodeV1(states[0] ?? workflow("A"), {}, begin);
      for (const state of states) {
        const after = encodeV1(state, status, begin);
        const before = decodeV1(status);
        expect(encodeV1(decodeV1(after), after, begin).tasks).toBe(after.tasks);
        for (const [at, one] of state.actions.entries())
          if (JSON.stringify(one) === JSON.stringify(before.actions[at]))
            expect(actionsOf(after)[at]).toBe(actionsOf(status)[at]);
        status = after;
      }
    }),
  );
});

const actionsOf = ({ tasks = [] }: ReturnType<typeof encodeV1>) => tasks.flatMap(({ actions = [] }) => actions);
