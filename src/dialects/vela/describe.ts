import { formatAge, type Instant, parseInstant } from "#lib/base/index.ts";
import { type DescribeOptions, pairsOf, tableOf } from "#kernel/dialect/index.ts";
import type { StepView } from "#engine/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { viewRun } from "./view.ts";

/** An Application or a WorkflowRun for people, in several lines without colours. */
export function describeRun(object: KubeObject, { now }: DescribeOptions): string {
  const view = viewRun(object);
  const { namespace = "-", name } = view.ref;
  const created = parseInstant(object.metadata.creationTimestamp);
  const head: readonly (readonly [string, string])[] = [
    ["Name", name],
    ["Namespace", namespace],
    ["Phase", view.nativePhase === "" ? "-" : view.nativePhase],
    ["Age", created === undefined ? "-" : formatAge(now - created)],
    ...(view.message === undefined ? [] : [["Message", view.message] as const]),
  ];
  const rows = view.steps.map((step) => rowOf(step, now));
  const table =
    rows.length === 0 ? ["Steps:  none"] : tableOf([["STEP", "PHASE", "TRY", "STARTED", "MESSAGE"], ...rows]);
  return [...pairsOf(head), "", ...table, ""].join("\n");
}

const rowOf = ({ id, nativePhase = "", attempt, startedAt, reason, message }: StepView, now: Instant) => [
  id,
  `${nativePhase === "" ? "-" : nativePhase}${reason === undefined ? "" : ` (${reason})`}`,
  `${attempt}`,
  startedAt === undefined ? "-" : formatAge(now - startedAt),
  message ?? "",
];
