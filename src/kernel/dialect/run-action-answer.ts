import { formatTime, type Instant } from "#lib/base/index.ts";
import type { GroupKind } from "#engine/index.ts";
import { type ApiClient, type Lister, refTo } from "#kernel/kit/index.ts";
import { keyOf, splitApiVersion, type Stored } from "#kernel/model/index.ts";
import { RunAction } from "./run-action.ts";

// RunActions are requests to a run, which the controller of its language answers in their own status. Effect before answer: a crash in
// between finds the action open, so that whoever decides has to recognise an effect that is there already.

/** Index of actions by their target: see `targetKeys`. */
export const targetIndex = "slipway.dev/target";

/** `Workflow.example.org/default/w`: the version does not matter, an object has the same name in all of them. */
const keyIn = ({ group, kind }: GroupKind, key: string): string => `${kind}.${group}/${key}`;

/** Keys of the run an action is for: several languages have runs of one name. */
export function targetKeys({ spec, metadata: { namespace } }: RunAction): readonly string[] {
  const { apiVersion = "", kind = "", name } = spec.target;
  if (name === undefined) return [];
  const { group } = splitApiVersion(apiVersion);
  return [keyIn({ group, kind }, keyOf({ name, ...(namespace === undefined ? {} : { namespace }) }))];
}

/** The run an action is for, as `namespace/name`, if it is one of this kind. */
export function targetIn(action: RunAction, type: GroupKind): readonly string[] {
  const prefix = keyIn(type, "");
  return targetKeys(action).flatMap((key) => (key.startsWith(prefix) ? [key.slice(prefix.length)] : []));
}

/** All actions for one run, answered or not. An index lookup: `actions` has `targetKeys` under `targetIndex`. */
export const actionsFor = (actions: Lister<RunAction>, type: GroupKind, key: string): readonly Stored<RunAction>[] =>
  actions.byIndex(targetIndex, keyIn(type, key));

/** Those that nobody has answered yet, oldest first. */
export function openActions(actions: readonly Stored<RunAction>[]): readonly Stored<RunAction>[] {
  return actions
    .filter(({ status }) => status?.phase === undefined || status.phase === "Accepted")
    .sort((a, b) => compareAges(a, b));
}

/** Creation times have seconds only; names decide within one. */
function compareAges(a: Stored, b: Stored): number {
  const [left, right] = [a.metadata.creationTimestamp, b.metadata.creationTimestamp];
  if (left !== right) return left < right ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

/** Writes the answer to an action. `finishTime` comes with the final answers only. */
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
