import { type Clock, type Millis, parseInstant } from "#lib/base/index.ts";
import {
  type ApiClient,
  controllerFor,
  ensureDeleted,
  type Lister,
  type Manager,
  type Reconciler,
  type ReconcileResult,
  requestFor,
} from "#kernel/kit/index.ts";
import type { GroupKind } from "#engine/index.ts";
import { keyOf, type ResourceType } from "#kernel/model/index.ts";
import { RunAction } from "./run-action.ts";
import { actionsFor, answer, targetIn, targetIndex, targetKeys } from "./run-action-answer.ts";
import type { Languages } from "./run-action-check.ts";

/** How long answered actions are kept, for audits. */
const keptFor: Millis = 60 * 60_000;
/** A new run may reach its mirror after its action. */
const patience: Millis = 2_000;

export interface UpkeepParts {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly actions: Lister<RunAction>;
  readonly runs: readonly { readonly type: GroupKind; readonly lister: Lister }[];
}

/** Refuses actions without a run, and deletes answered ones after an hour. Dialects answer the others. */
export function actionUpkeep(parts: UpkeepParts): Reconciler {
  const { client, clock, actions, runs } = parts;
  return {
    async reconcile(request, { signal }): Promise<ReconcileResult | undefined> {
      const action = actions.get(keyOf(request));
      if (action === undefined) return undefined;
      const { phase, finishTime } = action.status ?? {};
      const now = clock.now();
      if (phase === "Done" || phase === "Refused") {
        const left = (parseInstant(finishTime ?? "") ?? now) + keptFor - now;
        if (left > 0) return { requeueAfter: left };
        await ensureDeleted(client, RunAction, action, { signal });
        return undefined;
      }
      if (runs.some(({ type, lister }) => targetIn(action, type).some((key) => lister.get(key) !== undefined)))
        return undefined;
      const left = (parseInstant(action.metadata.creationTimestamp) ?? now) + patience - now;
      if (left > 0) return { requeueAfter: left };
      const { namespace = "" } = action.metadata;
      const { kind = "run", name = "" } = action.spec.target;
      const message = `there is no ${kind.toLowerCase()} "${name}" in the namespace "${namespace}"`;
      await answer(client, action, { phase: "Refused", message }, now, signal);
      return { requeueAfter: keptFor };
    },
  };
}

export function addActionUpkeep(manager: Manager, languages: Languages): void {
  const { client, clock } = manager;
  const actions = manager.mirror<RunAction>(RunAction);
  actions.addIndex(targetIndex, targetKeys);
  const types = languages.flatMap(runTypesOf);
  const runs = types.map((type) => ({ type, lister: manager.mirror(type) }));
  // A run may be deleted before it has answered.
  const controller = types.reduce(
    (builder, type) =>
      builder.watches(type, ({ metadata }) => actionsFor(actions, type, keyOf(metadata)).map(requestFor), {
        predicates: [({ type: change }) => change === "delete"],
      }),
    controllerFor(manager, "run-action").for<RunAction>(RunAction),
  );
  controller.complete(actionUpkeep({ client, clock, actions, runs }));
}

/** Each kind of runs once, in the stored version. */
const runTypesOf = ({ kinds, runs }: Languages[number]): readonly ResourceType[] =>
  runs.kinds.flatMap((run) => kinds.find(({ group, kind }) => group === run.group && kind === run.kind) ?? []);
