import { expect, test } from "vitest";
import { advance, type ApprovalRule, type Fact, newRun, type PlanStep, type RunState } from "./index.ts";
import { plan } from "./testing/build.ts";

const rule: ApprovalRule = {
  needed: 2,
  question: () => ({ message: "Go?" }),
  outputs: (approvals) => ({ by: approvals.map(({ by = "?" }) => by) }),
};
const say = (action: "approve" | "reject" | "resume", by?: string, more: object = {}): Fact => ({
  kind: "action",
  action,
  step: "ask",
  ...(by === undefined ? {} : { by }),
  ...more,
});

/** The step after each of these answers, ten milliseconds apart. */
function asked(step: Partial<PlanStep>, ...answers: readonly Fact[]) {
  const of = plan([{ id: "ask", kind: "approval", approval: rule, ...step }]);
  let run: RunState = advance(of, newRun, [], 0).run;
  let ignored = 0;
  for (const [index, fact] of answers.entries()) {
    const next = advance(of, run, [fact], (index + 1) * 10);
    ({ run } = next);
    ignored += next.ignored;
  }
  return { of, run, ignored, step: run.steps["ask"] };
}

test("a question is asked, and each answer is told and kept with what came along", () => {
  expect(asked({}).step).toMatchObject({ phase: "Suspended", message: "Go?" });
  expect(asked({}, say("approve", "anna", { values: { tag: 1 } })).step).toMatchObject({
    phase: "Suspended",
    message: "Go? (1 of 2 approvals: anna)",
    approvals: [{ by: "anna", at: 10, values: { tag: 1 } }],
  });
});

test("the last of the different people who are needed ends it, and the rule says what it gives", () => {
  const { step } = asked({}, say("approve", "anna"), say("resume", "ben", { reason: "looks good" }));
  expect(step).toMatchObject({
    phase: "Succeeded",
    message: "resumed by anna, ben: looks good",
    outputs: { by: ["anna", "ben"] },
  });
});

test.each([["anna"], [undefined]])("one person (%s) counts once, however often they agree", (by) => {
  const { step, ignored } = asked({}, say("approve", by), say("approve", by), say("approve", by));
  expect(step).toMatchObject({ phase: "Suspended", approvals: [{ at: 10 }] });
  expect(ignored).toBe(2);
});

test("one rejection outweighs what was agreed before", () => {
  const { step } = asked({}, say("approve", "anna"), say("reject", "ben", { reason: "not on a Friday" }));
  expect(step).toMatchObject({ phase: "Failed", reason: "Rejected", message: "rejected by ben: not on a Friday" });
});

test("a question that cannot be made fails the step", () => {
  const { step } = asked({ approval: { ...rule, question: () => ({ error: "no such key" }) } });
  expect(step).toMatchObject({ phase: "Failed", reason: "ExpressionError", message: "no such key" });
});

test("a question without words leaves the count alone", () => {
  const { step } = asked({ approval: { ...rule, question: () => ({}) } }, say("approve", "anna"));
  expect(step?.message).toBe("1 of 2 approvals: anna");
});

test.each([
  ["Reject", [], { phase: "Failed", reason: "Rejected", message: "no decision within 1s" }],
  ["Reject", [say("approve", "anna")], { phase: "Failed", message: "only 1 of 2 approvals: anna within 1s" }],
  [
    "Approve",
    [say("approve", "anna")],
    { phase: "Succeeded", message: "no rejection within 1s", outputs: { by: ["anna"] } },
  ],
] as const)("silence means %s, after %j", (onTimeout, answers, expected) => {
  const { of, run } = asked({ timeout: 1_000, onTimeout }, ...answers);
  expect(advance(of, run, [], 999).run).toBe(run);
  expect(advance(of, run, [], 1_000).run.steps["ask"]).toMatchObject(expected);
});

test("a retry of the run asks everybody again", () => {
  const { of, run } = asked({}, say("approve", "anna"), say("reject", "ben"));
  const again = advance(of, run, [{ kind: "action", action: "retry" }], 100).run;
  expect(again.steps["ask"]).toMatchObject({ phase: "Suspended", message: "Go?" });
  expect(again.steps["ask"]).not.toHaveProperty("approvals");
});
