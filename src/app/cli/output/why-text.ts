import { formatAge, type Instant, parseInstant, oneLine } from "#lib/base/index.ts";
import type { StepWhy, WaitKind, Why } from "../why.ts";
import type { Paint } from "#kernel/command/index.node.ts";
import { toneOf } from "./run-tree.ts";

/** The answer as a tree: each step below the one that waits for it, and once only. */
export function whyText(why: Why, now: Instant, paint: Paint): string {
  const byId = new Map(why.steps.map((step) => [step.step, step]));
  const below = new Set(why.steps.flatMap(({ waitsFor, steps = [] }) => (waitsFor === "dependencies" ? steps : [])));
  const told = new Set<string>();
  const lines: string[] = [];
  const tell = (step: StepWhy, depth: number): void => {
    const again = told.has(step.step) ? " (see above)" : "";
    const isNew = !told.has(step.step);
    told.add(step.step);
    lines.push(
      `${"  ".repeat(depth)}${step.step}: ${paint[toneOf(step.phase)](step.phase)}${isNew ? remark(step, now) : again}`,
    );
    if (!isNew || step.waitsFor !== "dependencies") return;
    for (const id of step.steps ?? []) {
      const next = byId.get(id);
      if (next !== undefined) tell(next, depth + 1);
    }
  };
  // No step waits for these; all others are shown below them.
  for (const step of why.steps) if (!below.has(step.step)) tell(step, 1);
  return `${[...headLines(why, now), ...lines].join("\n")}\n`;
}

/** What applies to every step: why the run is in its phase, who suspended it, and its deadline. */
function headLines({ run, phase, done, total, deadline, suspended, ...rest }: Why, now: Instant): readonly string[] {
  const reason = oneLine([rest.reason === phase ? undefined : rest.reason, rest.message].filter(Boolean).join(": "));
  return [
    `${run}: ${phase}, ${done} of ${total} steps settled${reason === "" ? "" : ` (${reason})`}`,
    ...(suspended === undefined ? [] : [`  suspended ${suspendedText(suspended)}: nothing new starts`]),
    ...(deadline === undefined ? [] : [`  ends at its deadline ${inTime(deadline, now)}`]),
  ];
}

/** `spec.suspend` names no user, and RunActions are deleted after an hour. */
const suspendedText = ({ by, reason }: NonNullable<Why["suspended"]>): string =>
  by === undefined && reason === undefined
    ? "by its spec, or by an unknown user"
    : `by ${by ?? "an unverified user"}${reason === undefined ? "" : ` (${reason})`}`;

const words: Readonly<Record<WaitKind, string>> = {
  nothing: "",
  dependencies: "waits for",
  "main-steps": "waits for all main steps",
  suspension: "waits for the run to be resumed",
  controller: "waits for a controller",
  slot: "waits for a free slot",
  backoff: "waits for its next attempt",
  timer: "waits for its time",
  lock: "waits for a lock",
  queue: "waits for the run's turn",
  quota: "waits for quota",
  agent: "waits for its agent",
  inputs: "waits for inputs",
  kind: "waits for a kind to be served",
  reference: "waits for an object to appear",
  approval: "waits for approval",
  "hold-up": "is held up",
  items: "waits for its items",
  child: "waits for its work to end",
  cancel: "waits for its work to be removed",
};

/** The kind of wait, then what is known of it. The step's own reason is shown only where it says more than the kind. */
function remark(step: StepWhy, now: Instant): string {
  const { waitsFor, steps = [], until, child, condition, reason, message } = step;
  const listed = waitsFor === "dependencies" ? ` ${steps.join(", ")}` : "";
  const why = [waitsFor === "hold-up" || waitsFor === "nothing" ? reason : undefined, message]
    .filter(Boolean)
    .join(": ");
  // The message of an approval says how many are missing.
  const kind = waitsFor === "approval" && why !== "" ? "" : words[waitsFor];
  const parts = [
    `${kind}${listed}`,
    ...(until === undefined ? [] : [inTime(until, now)]),
    ...(waitsFor === "slot" && steps.length > 0 ? [`taken by ${steps.slice(0, 10).join(", ")}`] : []),
    ...(child === undefined ? [] : [`${child.kind}/${child.name}`]),
    ...(why === "" ? [] : [oneLine(why)]),
    ...(condition === undefined ? [] : [`then runs if ${oneLine(condition)}`]),
  ].filter((part) => part !== "");
  return parts.length === 0 ? "" : `, ${parts.join("; ")}`;
}

/** A time that has passed is due now. */
function inTime(at: string, now: Instant): string {
  const left = (parseInstant(at) ?? now) - now;
  return left > 0 ? `in ${formatAge(left)}` : "now";
}
