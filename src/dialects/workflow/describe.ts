import { formatAge, type Instant } from "#lib/base/index.ts";
import { isTerminal, type RunView, type StepPhase, type StepView, summarizeItems } from "#engine/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import type { Condition } from "#engine/index.ts";
import { layOut, widthsOf } from "#kernel/dialect/index.ts";
import { conditionsOf } from "./completion.ts";
import type { Workflow } from "./kinds.ts";
import { viewWorkflow } from "./view.ts";

/**
 * A workflow for people: summary, then steps in topological order with the state of their dependencies. Several lines
 * without colours; times are relative to `now`; `children` as for `viewWorkflow`. Also for unstored and invalid
 * documents.
 */
export function describeWorkflow(object: Workflow, now: Instant, children: readonly KubeObject[] = []): string {
  const view = viewWorkflow(object, children);
  const main = view.steps.filter((step) => step.final !== true);
  const final = view.steps.filter((step) => step.final === true);
  const byId = new Map(view.steps.map((step) => [step.id, step]));
  const rows = [
    ["STEP", "PHASE", "TRY", "TIME", "DEPENDENCIES", "WAITING FOR / MESSAGE"],
    ...main.map((step) => rowOf(step, byId, now)),
  ];
  const finalRows = final.map((step) => rowOf(step, byId, now));
  const widths = widthsOf([...rows, ...finalRows]);
  const table = (lines: readonly (readonly string[])[]) => lines.map((cells) => layOut(cells, widths));
  return [
    ...summary(object, view, now),
    ...table(rows),
    ...(final.length === 0 ? [] : ["FINALLY", ...table(finalRows)]),
    ...artifactLines(view),
    "",
  ].join("\n");
}

function artifactLines({ steps }: RunView): readonly string[] {
  const rows = steps.flatMap(({ id, artifacts }) =>
    artifacts.map(({ name, sizeBytes = 0, digest = "" }) => [`${id}/${name}`, `${sizeBytes} bytes`, digest]),
  );
  const widths = widthsOf(rows);
  return rows.length === 0 ? [] : ["", "ARTIFACTS", ...rows.map((cells) => layOut(cells, widths))];
}

function summary(object: Workflow, view: RunView, now: Instant): readonly string[] {
  const { done, total } = view.progress;
  const cells = [
    ["Name:", view.name, "Namespace:", view.ref.namespace ?? "-", "Phase:", `${view.phase} (${done}/${total})`],
    ["Started:", startedText(view, now), "Deadline:", deadlineText(view, now), "Run:", String(view.number ?? 1)],
  ];
  const widths = [12, ...widthsOf(cells).slice(1)];
  const conditions = conditionsOf(object.status).map(conditionText);
  return [
    ...cells.map((row) => layOut(row, widths)),
    layOut(["Conditions:", conditions.length === 0 ? "-" : conditions.join(" ")], widths),
    ...(view.message === undefined ? [] : [layOut(["Message:", view.message], widths)]),
    "",
  ];
}

const conditionText = ({ type, status, reason }: Condition): string =>
  `${type}=${status}${reason === undefined ? "" : ` (${reason})`}`;

function startedText(view: RunView, now: Instant): string {
  if (view.startedAt === undefined) return "not yet";
  const ago = `${formatAge(now - view.startedAt)} ago`;
  return view.finishedAt === undefined ? ago : `${ago}, took ${formatAge(view.finishedAt - view.startedAt)}`;
}

/** `in 1h57m`, `passed`, or `-` if there is none or its clock stands still. */
function deadlineText(view: RunView, now: Instant): string {
  if (view.deadlineAt === undefined || view.finishedAt !== undefined) return "-";
  return view.deadlineAt <= now ? "passed" : `in ${formatAge(view.deadlineAt - now)}`;
}

function rowOf(step: StepView, byId: ReadonlyMap<string, StepView>, now: Instant): readonly string[] {
  return [step.id, step.phase, tries(step), timeOf(step, now), dependenciesOf(step, byId), whatFor(step, now)];
}

/** The current attempt, and of how many; `-` before the first. Attempts of earlier runs count on. */
function tries({ attempt, attempts = 1 }: StepView): string {
  if (attempt === 0) return "-";
  return attempts > 1 && attempts >= attempt ? `${attempt}/${attempts}` : String(attempt);
}

function timeOf({ startedAt, finishedAt }: StepView, now: Instant): string {
  return startedAt === undefined ? "-" : formatAge((finishedAt ?? now) - startedAt);
}

/** Final steps without dependencies wait for all main ones. */
function dependenciesOf(step: StepView, byId: ReadonlyMap<string, StepView>): string {
  if (step.dependencies.length === 0) return step.final === true ? "(after all steps)" : "-";
  return step.dependencies.map((id) => `${markOf(byId.get(id))} ${id}`).join(" ");
}

function markOf(step: StepView | undefined): string {
  if (step === undefined) return "[ ]";
  if (step.phase === "Skipped") return step.reason === "ConditionFalse" ? "[-]" : "[!]";
  return marks[step.phase];
}

/** `[x]` satisfied, `[~]` active, `[ ]` not started, `[!]` bad; for a skip see `markOf`. */
const marks: Readonly<Record<Exclude<StepPhase, "Skipped">, string>> = {
  Pending: "[ ]",
  Waiting: "[~]",
  Starting: "[~]",
  Running: "[~]",
  Suspended: "[~]",
  Cancelling: "[~]",
  Succeeded: "[x]",
  Failed: "[!]",
  Canceled: "[!]",
};

function whatFor(step: StepView, now: Instant): string {
  if (step.waitingFor.length > 0) return step.waitingFor.join(", ");
  if (step.items !== undefined && !isTerminal(step.phase)) {
    // For a fan-out only a lock that keeps all items waiting is shown.
    const lock = step.reason === "Lock" && step.message !== undefined ? `; ${step.message}` : "";
    return `${summarizeItems(step.items)}${lock}`;
  }
  const due = step.phase === "Waiting" && step.notBefore !== undefined ? `in ${formatAge(step.notBefore - now)}` : "";
  const why = [step.reason, step.message].filter((text) => text !== undefined && text !== "").join(": ");
  if (step.holdUp !== undefined) return `${step.holdUp.reason}: ${step.holdUp.message}`;
  const isOver = isTerminal(step.phase) || step.phase === "Pending";
  const child = step.child === undefined || isOver ? "" : `${step.child.kind}/${step.child.name}`;
  return [why, due].filter((text) => text !== "").join(", ") || child;
}
