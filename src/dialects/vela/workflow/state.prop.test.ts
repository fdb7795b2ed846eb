import fc from "fast-check";
import { expect, test } from "vitest";
import { defaultSettings } from "../settings.ts";
import { decodeRun, encodeRun, stepIdOf } from "./state.ts";
import type { StepStatus, WorkflowStatus } from "./status.ts";
import { createRig, step } from "./testing/rig.ts";

const templates = {
  waiting: { actions: [{ path: "wait", use: "builtin/wait", value: { $params: { message: "soon" } } }] },
  broken: { actions: [{ path: "act", use: "test/error" }] },
  count: { actions: [{ path: "count", use: "test/count" }] },
  breaks: { actions: [{ path: "end", use: "op/break", value: { message: "stop" } }] },
};

const types = fc.constantFrom("waiting", "broken", "count", "breaks", "suspend");

test("28 encode is the reverse of decode on every status that a run stores, and unknown fields stay", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(types, { minLength: 1, maxLength: 5 }),
      fc.array(types, { maxLength: 3 }),
      fc.boolean(),
      fc.integer({ min: 1, max: 6 }),
      async (top, inner, isDag, passes) => {
        const group = step("group", "step-group", { subSteps: inner.map((type, index) => step(`s${index}`, type)) });
        const steps = [...top.map((type, index) => step(`t${index}`, type)), group];
        const rig = await createRig({ steps, templates, mode: isDag ? "DAG" : "StepByStep" });
        const workflow = {
          modes: { steps: isDag ? ("DAG" as const) : ("StepByStep" as const), subSteps: "DAG" as const },
          steps,
        };
        for (let pass = 0; pass < passes; pass++) {
          await rig.pass();
          rig.clock.jump(rig.clock.now() + 1_500);
          const status = withExtras(rig.state.status ?? {});
          const decoded = decodeRun(status, workflow, defaultSettings);
          const again = encodeRun(
            {
              ...decoded,
              workflow,
              settings: defaultSettings,
              runUid: rig.owner.metadata.uid,
              now: rig.clock.now(),
              pending: new Map((status.steps ?? []).map(({ name = "", message = "" }) => [name, message])),
            },
            status,
          );
          expect(again).toEqual(status);
        }
      },
    ),
    { numRuns: 40 },
  );
});

/** As a newer version may write them. */
const withExtras = (status: WorkflowStatus): WorkflowStatus => {
  const newer = { newer: "kept" };
  const steps = (status.steps ?? []).map((each): StepStatus => ({ ...each, ...newer }));
  return { ...status, ...newer, steps };
};

test("ids of steps are ten lower-case alphanumerics and depend on run and name", () => {
  expect(stepIdOf("uid", "a")).toMatch(/^[a-z0-9]{10}$/);
  expect(stepIdOf("uid", "a")).not.toBe(stepIdOf("uid", "b"));
  expect(stepIdOf("uid", "a")).not.toBe(stepIdOf("other", "a"));
});
