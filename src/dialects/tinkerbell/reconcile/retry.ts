import { err, type JsonObject, ok, type Result } from "#lib/base/index.ts";
import { apiVersionOf, type Stored } from "#kernel/model/index.ts";
import type { PrepareFailure } from "./prepare.ts";
import type { Action } from "../state.ts";
import { type AnyWorkflow, kindOf } from "../stored.ts";
import type { Prepared } from "../plan.ts";

/** The first of a row of retries, from which their names derive. */
const retryAnnotation = "slipway.dev/retry-of";
const commandAnnotation = "slipway.dev/run-action";
/** First action to run, as `task/action` or `action`; earlier ones are left out. */
const beginAnnotation = "slipway.dev/begin-with";

const mostRetries = 1000;
const longestName = 253;

/** `w-retry-1`, `w-retry-2`, …, also for a run that is itself a retry of `w`. */
export function* retryNames({ metadata }: Stored<AnyWorkflow>): Generator<string, void> {
  const { name, annotations } = metadata;
  const first = annotations?.[retryAnnotation];
  const base = first !== undefined && name.startsWith(`${first}-retry-`) ? first : name;
  for (let number = 1; number <= mostRetries; number++) {
    const ending = `-retry-${number}`;
    yield `${base.slice(0, longestName - ending.length)}${ending}`;
  }
}

export const retriedBy = ({ metadata }: AnyWorkflow): string | undefined => metadata.annotations?.[commandAnnotation];

export interface Retry {
  readonly name: string;
  readonly by: string;
  readonly from: Action | undefined;
}

/** A new workflow with the same spec, labels and annotations, but no owners, which wait for the old run. */
export function retryOf(workflow: Stored<AnyWorkflow>, { name, by, from }: Retry): AnyWorkflow {
  const { namespace, labels, annotations = {} } = workflow.metadata;
  const kept = Object.entries(annotations).filter(([key]) => key !== beginAnnotation && !key.startsWith("kubectl."));
  const [first = name] = retryNames(workflow);
  const { disabled: _off, ...spec }: JsonObject = workflow.spec ?? {};
  return {
    apiVersion: apiVersionOf(kindOf(workflow)),
    kind: workflow.kind,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(labels === undefined ? {} : { labels }),
      annotations: {
        ...Object.fromEntries(kept),
        [retryAnnotation]: first.replace(/-retry-1$/, ""),
        [commandAnnotation]: by,
        ...(from === undefined ? {} : { [beginAnnotation]: labelOf(from) }),
      },
    },
    spec,
  };
}

/** Names are unique only within a task. */
const labelOf = ({ name, task }: Action): string => (task.name === "" ? name : `${task.name}/${name}`);

export function beginning({ metadata }: AnyWorkflow, prepared: Prepared): Result<Prepared, PrepareFailure> {
  const label = metadata.annotations?.[beginAnnotation];
  if (label === undefined) return ok(prepared);
  const at = prepared.actions.findIndex((action) => labelOf(action) === label);
  if (at < 0) return err({ message: `${beginAnnotation}: the template has no action "${label}"`, isFinal: true });
  const actions = prepared.actions.slice(at);
  return ok({ ...prepared, actions, agentID: actions[0]?.task.agentID ?? prepared.agentID });
}
