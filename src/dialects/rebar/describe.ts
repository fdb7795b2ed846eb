import { formatAge, parseInstant } from "#lib/base/index.ts";
import { type DescribeOptions, pairsOf, tableOf } from "#kernel/dialect/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { stateOf } from "./state.ts";
import { viewMachine } from "./view.ts";
import { isJsonObject, textAt } from "#lib/base/index.ts";

/** A machine for people: its task list with the cursor. */
export function describeMachine(object: KubeObject, { now }: DescribeOptions): string {
  const view = viewMachine(object);
  const state = stateOf(object);
  const spec = isJsonObject(object.spec) ? object.spec : {};
  const created = parseInstant(object.metadata.creationTimestamp ?? "");
  const said = (name: string): string => {
    const text = textAt(spec, name) ?? "";
    return text === "" ? "-" : text;
  };
  const head: readonly (readonly [string, string])[] = [
    ["Name", view.name],
    ...(said("Name") === view.name || said("Name") === "-" ? [] : [["Title", said("Name")] as const]),
    ["Namespace", view.ref.namespace ?? "-"],
    ["Uuid", said("Uuid")],
    ["Address", said("Address")],
    ["Workflow", said("Workflow")],
    ["Stage", said("Stage")],
    ["BootEnv", said("BootEnv")],
    ["Context", said("Context")],
    ["Runnable", state.isRunnable ? "yes" : "no"],
    ["State", view.nativePhase === "" ? "-" : view.nativePhase],
    ["Job", state.job === undefined ? "-" : `${state.job.Uuid} (${state.job.State})`],
    ["Age", created === undefined ? "-" : formatAge(now - created)],
    ...(view.message === undefined ? [] : [["Message", view.message] as const]),
  ];
  const rows = view.steps.map((step, at) => [
    at === state.cursor ? ">" : " ",
    step.id,
    step.phase,
    step.startedAt === undefined ? "-" : formatAge(now - step.startedAt),
    step.startedAt === undefined || step.finishedAt === undefined ? "-" : formatAge(step.finishedAt - step.startedAt),
    step.attempt > 1 ? `${step.attempt}` : "",
    step.message ?? "",
  ]);
  const table =
    rows.length === 0
      ? ["Tasks:  none"]
      : tableOf([[" ", "TASK", "PHASE", "STARTED", "TOOK", "TRIES", "MESSAGE"], ...rows]);
  return [...pairsOf(head), "", ...table, ""].join("\n");
}
