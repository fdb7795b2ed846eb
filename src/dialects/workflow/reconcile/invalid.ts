import { formatTime, type Problem } from "#lib/base/index.ts";
import { advance, type ChildFact, type Fact, isActive, type Plan, type RunState, stepState } from "#engine/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { labels, isChildOfStep } from "../child-names.ts";
import type { CompiledWorkflow } from "../compile/compiled.ts";
import { outlinePlan } from "../compile/outline.ts";
import { stepSources } from "../compile/step-source.ts";
import { stateOfObject } from "../completion.ts";
import { Workflow, type WorkflowCondition, isFinished } from "../kinds.ts";
import { notices, noticesBetween } from "../messages.ts";
import { specOf } from "../spec-of.ts";
import { decodeRun } from "../state.ts";
import { actionStage, answerStage, decideInvalid } from "./actions.ts";
import { endChildren } from "./finalize.ts";
import { runOf } from "./memory.ts";
import type { Pass, Turn } from "./pass.ts";
import type { InvalidReason } from "./resolve.ts";
import { storeStage } from "./store.ts";
import { setOne } from "./summary.ts";

function summaryOf(problems: readonly Problem[]): string {
  const [first = ""] = textsOf(problems);
  return `${cut(first)}${problems.length > 1 ? ` (and ${problems.length - 1} more)` : ""}`;
}

const textsOf = (problems: readonly Problem[]): readonly string[] =>
  problems.map(({ path, message }) => `${path}: ${message}`);

const cut = (text: string): string => (text.length <= longest ? text : `${text.slice(0, longest)}…`);

/** Characters in a condition's message; events are cut at 1024 bytes. */
const longest = 2_000;

/**
 * An invalid workflow reports all problems and waits for a correction. Nothing is deleted or ended unless it is
 * canceled. Admission refuses such specs, so this is for servers without it and for stricter rules.
 */
export async function invalidStage(
  pass: Pass,
  problems: readonly Problem[],
  reason: InvalidReason = "InvalidSpec",
): Promise<Turn> {
  const workflow = isFinished(pass.workflow) ? pass.workflow : await tellInvalid(pass, problems, reason);
  const held = workflow === pass.workflow ? pass : { ...pass, workflow };
  if (reason === "InvalidSpec" && isUnstartedChild(workflow)) return { again: await failChild(held) };
  const { run } = runOf(pass.memory, workflow);
  const spec = specOf(workflow);
  const plan = outlinePlan(spec, stepSources(spec));
  const action = await actionStage(held, run, (asked) => decideInvalid(asked, workflow, plan, run));
  if (action.is === "answered") return { again: workflow };
  if (isFinished(workflow) || (action.is === "none" && run.closing !== "Cancel")) return {};
  // Missing mirrors trigger a pass when they are filled.
  if ((await pass.kinds.sight(workflow)).is !== "complete") return {};
  const facts: readonly Fact[] = action.is === "apply" ? [action.fact] : run.forced === true ? [] : [forcedCancel];
  const stored = await endStage(held, plan, run, facts);
  await answerStage(held, action, stored ?? workflow);
  return stored === undefined ? { wake: await endChildren(held, activeChildren(held)) } : { again: stored };
}

/** Nobody corrects a step's child: the next attempt has other arguments, or the step fails. */
const isUnstartedChild = (workflow: Stored<Workflow>): boolean =>
  isChildOfStep(workflow) && workflow.status?.startTime === undefined && !isFinished(workflow);

/** Fails with the message of its Invalid condition. */
async function failChild(pass: Pass): Promise<Stored<Workflow>> {
  const { workflow, client, now, signal } = pass;
  const { status = {}, metadata } = workflow;
  const { message = "" } = status.conditions?.find(({ type }) => type === "Invalid") ?? {};
  const ended: readonly WorkflowCondition[] = [
    { type: "Complete", status: "False" },
    { type: "Failed", status: "True", reason: "InvalidSpec", message },
  ];
  const conditions = ended.reduce((list, one) => setOne(list, one, metadata.generation, now), status.conditions ?? []);
  // The message was written with the condition.
  const end = { phase: "Failed", reason: "InvalidSpec", completionTime: formatTime(now) } as const;
  const next = { ...workflow, status: { ...status, ...end, conditions } };
  const stored = await client.updateStatus<Workflow>(Workflow, next, { signal });
  for (const notice of noticesBetween(decodeRun(status), decodeRun(next.status))) pass.record(stored, notice);
  return stored;
}

/** Final steps cannot run any more. */
const forcedCancel: Fact = { kind: "action", action: "cancel", force: true };

/** Written and reported once per finding. */
async function tellInvalid(pass: Pass, problems: readonly Problem[], reason: InvalidReason): Promise<Stored<Workflow>> {
  const { workflow, client, now, signal } = pass;
  const { generation } = workflow.metadata;
  const message = cut(textsOf(problems).join("; "));
  const present = workflow.status?.conditions ?? [];
  const conditions = setOne(present, { type: "Invalid", status: "True", reason, message }, generation, now);
  if (conditions === present) return workflow;
  const phase = workflow.status?.phase ?? "Pending";
  const status = {
    ...workflow.status,
    phase,
    conditions,
    // For a canceled run the canceller matters more.
    ...(workflow.status?.closing === undefined ? { message: summaryOf(problems) } : {}),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
  const stored = await client.updateStatus<Workflow>(Workflow, { ...workflow, status }, { signal });
  if (workflow.status?.observedGeneration === undefined) pass.record(stored, notices.created(workflow.metadata.name));
  pass.record(stored, notices.invalid(message));
  return stored;
}

/**
 * Advances a canceled run to its end on the outline of its plan: settles what has not started and cancels what runs.
 * Returns the stored version; undefined if nothing changes.
 */
async function endStage(
  pass: Pass,
  plan: Plan,
  before: RunState,
  facts: readonly Fact[],
): Promise<Stored<Workflow> | undefined> {
  const { workflow, now } = pass;
  const { run } = advance(plan, before, [...childFacts(pass, before), ...facts], now);
  const state = { workflow, compiled: outlineOf(workflow, plan), run, now };
  return await storeStage(pass, state, before, { references: new Map(), conflicts: [], isInvalid: true });
}

/** Nothing can start from it, and nothing has outputs. */
const outlineOf = ({ metadata, spec }: Stored<Workflow>, plan: Plan): CompiledWorkflow => ({
  spec,
  plan,
  steps: new Map(),
  outputs: [],
  concurrency: undefined,
  params: {},
  identity: {
    name: metadata.name,
    namespace: metadata.namespace ?? "",
    uid: metadata.uid,
    labels: {},
    scheduledAt: "",
  },
  expiring: [],
  selector: {},
});

function childFacts(pass: Pass, run: RunState): readonly ChildFact[] {
  const children = new Map(pass.kinds.controlledBy(pass.workflow).map((child) => [attemptNameOf(child), child]));
  return Object.keys(run.steps).flatMap((step): readonly ChildFact[] => {
    const { phase, attempt } = stepState(run, step);
    if (!isActive(phase)) return [];
    const child = children.get(`${step} ${attempt}`);
    return [{ kind: "child", step, attempt, state: child === undefined ? { is: "gone" } : childState(child) }];
  });
}

const attemptNameOf = ({ metadata }: Stored): string =>
  `${metadata.labels?.[labels.step] ?? ""} ${metadata.labels?.[labels.attempt] ?? ""}`;

function childState(child: Stored): ChildFact["state"] {
  const state = stateOfObject(child);
  if (state.is === "running") return { is: "alive" };
  return state.is === "failed" ? { ...state, retryable: false } : state;
}

/** Children to end; finished ones stay, with their logs. */
const activeChildren = ({ kinds, workflow }: Pass): readonly Stored[] =>
  kinds.controlledBy(workflow).filter((child) => stateOfObject(child).is === "running");
