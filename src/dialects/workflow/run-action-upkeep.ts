import { type Clock, type Millis, parseInstant } from "#lib/base/index.ts";
import {
  type ApiClient,
  ensureDeleted,
  type Lister,
  type Reconciler,
  type ReconcileResult,
} from "#kernel/kit/index.ts";
import { keyOf } from "#kernel/model/index.ts";
import { RunAction, type Workflow } from "./kinds.ts";
import { answer, targetOf } from "./reconcile/actions.ts";

/**
 * Answered actions are kept this long, for whoever asks who did what; the end of the hour is counted from the answer.
 */
const keptFor: Millis = 60 * 60_000;
/**
 * A workflow that was created a moment ago may not be in the mirror yet, while an action for it is: both come by
 * watches of their own.
 */
const patience: Millis = 2_000;

/** What upkeep works with. */
export interface UpkeepParts {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly actions: Lister<RunAction>;
  readonly workflows: Lister<Workflow>;
}

/**
 * Refuses actions for workflows that do not exist, and deletes answered ones after an hour. Workflows answer all
 * others, in their own passes, so that an action and its effect are never judged on different states.
 */
export function actionUpkeep(parts: UpkeepParts): Reconciler {
  const { client, clock, actions, workflows } = parts;
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
      if (targetOf(action).some((key) => workflows.get(key) !== undefined)) return undefined;
      const left = (parseInstant(action.metadata.creationTimestamp) ?? now) + patience - now;
      if (left > 0) return { requeueAfter: left };
      const { namespace = "" } = action.metadata;
      const message = `there is no workflow "${action.spec.target.name ?? ""}" in the namespace "${namespace}"`;
      await answer(client, action, { phase: "Refused", message }, now, signal);
      return { requeueAfter: keptFor };
    },
  };
}
