import { err, type JsonObject, ok, type Result } from "#lib/base/index.ts";
import { apiVersionOf, type Stored } from "#kernel/model/index.ts";
import type { PrepareFailure } from "./prepare.ts";
import type { Action } from "./state.ts";
import { type AnyWorkflow, kindOf } from "./stored.ts";
import type { Prepared } from "./planned.ts";

/** The first run of a row of retries, of which the others have their names. */
const retryAnnotation = "slipway.dev/retry-of";
/** The command that has asked for this run. */
const commandAnnotation = "slipway.dev/run-action";
/** The action to begin with, as `task/action` or `action`; those before it are left out. */
const beginAnnotation = "slipway.dev/begin-with";

/** Names of retries are tried one after the other; nobody has so many. */
const mostRetries = 1000;
const longestName = 253;

/** `w-retry-1`, `w-retry-2`, …: also of a run that is a retry of `w` itself. */
export function* retryNames({ metadata }: Stored<AnyWorkflow>): Generator<string, void> {
  const { name, annotations } = metadata;
  const first = annotations?.[retryAnnotation];
  const base = first !== undefined && name.startsWith(`${first}-retry-`) ? first : name;
  for (let number = 1; number <= mostRetries; number++) {
    const ending = `-retry-${number}`;
    yield `${base.slice(0, longestName - ending.length)}${ending}`;
  }
}

/** The uid of the command that a run was created by. */
export const retriedBy = ({ metadata }: AnyWorkflow): string | undefined => metadata.annotations?.[commandAnnotation];

/** Who asks for a retry, what it is called, and where it begins. */
export interface Retry {
  readonly name: string;
  readonly by: string;
  readonly from: Action | undefined;
}

/**
 * A new workflow of the same specification, which is rendered anew. Labels and annotations of people go with it; owners do not: what somebody
 * else has created and waits for is the run that has ended.
 */
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

/** Names are unique within a task only. */
const labelOf = ({ name, task }: Action): string => (task.name === "" ? name : `${task.name}/${name}`);

/** What is left of a workflow that begins in the middle; the same where it does not. */
export function beginning({ metadata }: AnyWorkflow, prepared: Prepared): Result<Prepared, PrepareFailure> {
  const label = metadata.annotations?.[beginAnnotation];
  if (label === undefined) return ok(prepared);
  const at = prepared.actions.findIndex((action) => labelOf(action) === label);
  if (at < 0) return err({ message: `${beginAnnotation}: the template has no action "${label}"`, isFinal: true });
  const actions = prepared.actions.slice(at);
  return ok({ ...prepared, actions, agentID: actions[0]?.task.agentID ?? prepared.agentID });
}
