import { formatTime, type Instant } from "#lib/base/index.ts";
import type { GroupKind } from "#engine/index.ts";
import { type ApiClient, type Lister, refTo } from "#kernel/kit/index.ts";
import { keyOf, splitApiVersion, type Stored } from "#kernel/model/index.ts";
import { RunAction } from "./run-action.ts";

// The controller of a dialect answers RunActions in their status. The effect comes first: after a crash in between the
// controller must recognise it.

export const targetIndex = "slipway.dev/target";

/** `Workflow.example.org/default/w`, for all versions. */
const keyIn = ({ group, kind }: GroupKind, key: string): string => `${kind}.${group}/${key}`;

/** Several dialects may have runs of one name. */
export function targetKeys({ spec, metadata: { namespace } }: RunAction): readonly string[] {
  const { apiVersion = "", kind = "", name } = spec.target;
  if (name === undefined) return [];
  const { group } = splitApiVersion(apiVersion);
  return [keyIn({ group, kind }, keyOf({ name, ...(namespace === undefined ? {} : { namespace }) }))];
}

/** The target as `namespace/name`, if it is of this kind. */
export function targetIn(action: RunAction, type: GroupKind): readonly string[] {
  const prefix = keyIn(type, "");
  return targetKeys(action).flatMap((key) => (key.startsWith(prefix) ? [key.slice(prefix.length)] : []));
}

/** All actions for one run; `actions` must have the index. */
export const actionsFor = (actions: Lister<RunAction>, type: GroupKind, key: string): readonly Stored<RunAction>[] =>
  actions.byIndex(targetIndex, keyIn(type, key));

/** Unanswered actions, oldest first. */
export function openActions(actions: readonly Stored<RunAction>[]): readonly Stored<RunAction>[] {
  return actions
    .filter(({ status }) => status?.phase === undefined || status.phase === "Accepted")
    .sort((a, b) => compareAges(a, b));
}

/** By creation time in seconds, then by name. */
function compareAges(a: Stored, b: Stored): number {
  const [left, right] = [a.metadata.creationTimestamp, b.metadata.creationTimestamp];
  if (left !== right) return left < right ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

/** `finishTime` is set for final answers. */
export async function answer(
  client: ApiClient,
  action: Stored<RunAction>,
  status: NonNullable<RunAction["status"]>,
  now: Instant,
  signal: AbortSignal,
): Promise<void> {
  const finished = status.phase === "Accepted" ? {} : { finishTime: formatTime(now) };
  const body = { status: { ...action.status, ...status, ...finished } };
  await client.patch(refTo(RunAction, action), { type: "merge", body }, { subresource: "status", signal });
}
