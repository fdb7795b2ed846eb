import { type Clock, SlipwayError } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { rerenderAnnotation, rerenderedCondition } from "../messages.ts";
import { conditionsIn } from "../status/rendering.ts";
import { type AnyWorkflow, kindOf, refOf, stateOf } from "../stored.ts";

export interface RerenderAnswer {
  readonly isDone: boolean;
  readonly message: string;
}

/** Longer than a busy controller needs, so that an absent one is noticed. */
const patienceMs = 15_000;

/**
 * Asks the controller to render a workflow again and waits for the result. Possible until an agent was sent it. Rejects
 * with `rerender-pending` if no controller answers in 15 seconds; the request stays.
 */
export async function rerender(
  client: ApiClient,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  { clock, signal, value }: { readonly clock: Clock; readonly signal: AbortSignal; readonly value: string },
): Promise<RerenderAnswer> {
  const workflow = await client.get<AnyWorkflow>(refOf(namespace, name), { signal });
  const refusal = refusalOf(workflow);
  if (refusal !== undefined) return { isDone: false, message: refusal };
  const body = { metadata: { annotations: { [rerenderAnnotation]: value } } };
  const ref = { type: kindOf(workflow), namespace, name };
  const asked = await client.patch<AnyWorkflow>(ref, { type: "merge", body }, { signal });
  const patience = new AbortController();
  const cancel = clock.after(patienceMs, () => patience.abort());
  try {
    return await answered(client, asked, value, AbortSignal.any([signal, patience.signal]));
  } catch (thrown) {
    if (!patience.signal.aborted) throw thrown;
    throw new SlipwayError(
      "rerender-pending",
      `no controller has rendered the workflow within ${patienceMs / 1000} s`,
      {
        hint: "it is asked for, and done when a controller runs",
        cause: thrown,
      },
    );
  } finally {
    cancel();
  }
}

function refusalOf(workflow: AnyWorkflow): string | undefined {
  const { phase } = stateOf(workflow);
  return phase === "" || phase === "Pending"
    ? undefined
    : `the workflow is ${phase}: only one that is Pending can be rendered anew`;
}

/** Watches from the revision of the request, so that no answer is missed. */
async function answered(
  client: ApiClient,
  asked: Stored<AnyWorkflow>,
  value: string,
  signal: AbortSignal,
): Promise<RerenderAnswer> {
  const { namespace = "", name, resourceVersion } = asked.metadata;
  const watching = { namespace, fieldSelector: `metadata.name=${name}`, resourceVersion, signal };
  for await (const { type, object } of client.watch<AnyWorkflow>(kindOf(asked), watching)) {
    if (type === "BOOKMARK") continue;
    if (type === "DELETED") return { isDone: false, message: "the workflow was deleted" };
    if (object.status?.["rerendered"] === value) return answerIn(object);
    const refusal = refusalOf(object);
    if (refusal !== undefined && stateOf(object).phase !== "Preparing") return { isDone: false, message: refusal };
  }
  signal.throwIfAborted();
  throw new SlipwayError("rerender-lost", `the server ended the watch of workflow ${name}`);
}

function answerIn(workflow: AnyWorkflow): RerenderAnswer {
  const found = conditionsIn(workflow).find(({ type }) => type === rerenderedCondition);
  return { isDone: found?.status === "True", message: found?.message ?? "" };
}
