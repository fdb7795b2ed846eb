import type { ActionName } from "#engine/index.ts";
import { type Clock, isJsonObject, type JsonObject, objectAt, SlipwayError, textAt } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { apiVersionOf, asJson, type KubeObject, type ResourceType, type Stored } from "#kernel/model/index.ts";
import { RunAction } from "./run-action.ts";

export interface ActedRun {
  readonly type: ResourceType;
  readonly name: string;
}

/** The fields of a RunAction's spec besides its target. */
export interface ActionRequest {
  readonly action: ActionName;
  readonly step?: string;
  readonly steps?: readonly string[];
  /** retry: continue with the failed step instead of starting over. */
  readonly fromFailed?: boolean;
  readonly values?: JsonObject;
  readonly force?: boolean;
  readonly reason?: string;
}

/** The controller's verdict. `message` is empty when there is nothing to add. */
export interface ActionAnswer {
  readonly phase: "Done" | "Refused";
  readonly message: string;
  /** A run that the action has created. */
  readonly createdRun?: string;
  readonly object: KubeObject;
}

/** Far longer than a running controller needs. */
const patienceMs = 15_000;

/**
 * Creates a RunAction and waits for the verdict; a refusal is a result, not an error. Rejects with `action-pending`
 * after 15 seconds: the RunAction stays and takes effect later. `signal` ends the wait, not the action.
 */
export async function act(
  client: ApiClient,
  namespace: string,
  run: ActedRun,
  request: ActionRequest,
  clock: Clock,
  signal: AbortSignal,
): Promise<ActionAnswer> {
  const target = { apiVersion: apiVersionOf(run.type), kind: run.type.kind, name: run.name };
  // The server records the user; only the client knows that this is the command line.
  const created = await client.create(RunAction, {
    apiVersion: apiVersionOf(RunAction),
    kind: RunAction.kind,
    metadata: { generateName: `${request.action}-`, namespace, annotations: { "slipway.dev/client": "CLI" } },
    spec: { target, ...request },
  } satisfies KubeObject);
  const patience = new AbortController();
  const cancel = clock.after(patienceMs, () => patience.abort());
  try {
    return await judged(client, created, AbortSignal.any([signal, patience.signal]));
  } catch (thrown) {
    if (!patience.signal.aborted) throw thrown;
    const hint = `it stays recorded as runaction/${created.metadata.name} and takes effect when a controller runs`;
    const message = `no controller has answered the ${request.action} within ${patienceMs / 1000} s`;
    throw new SlipwayError("action-pending", message, { hint, cause: thrown });
  } finally {
    cancel();
  }
}

/** Watches from the created revision on, so no verdict is missed. */
async function judged(client: ApiClient, created: Stored, signal: AbortSignal): Promise<ActionAnswer> {
  const { namespace = "default", name, resourceVersion } = created.metadata;
  const watching = { namespace, fieldSelector: `metadata.name=${name}`, resourceVersion, signal };
  for await (const { object } of client.watch(RunAction, watching)) {
    const answer = answerOf(object);
    if (answer !== undefined) return answer;
  }
  signal.throwIfAborted();
  throw new SlipwayError("action-lost", `the server ended the watch of runaction/${name}`);
}

/** Undefined while it is pending. */
function answerOf(object: KubeObject): ActionAnswer | undefined {
  const { status } = object;
  if (!isJsonObject(status)) return undefined;
  const { phase, message, createdRun } = status;
  if (phase !== "Done" && phase !== "Refused") return undefined;
  return {
    phase,
    object,
    message: typeof message === "string" ? message : "",
    ...(typeof createdRun === "string" ? { createdRun } : {}),
  };
}

/** Who suspended a run last; undefined once the RunAction has been deleted, an hour after it finished. */
export async function lastSuspend(
  client: ApiClient,
  namespace: string,
  run: ActedRun,
): Promise<{ readonly by?: string; readonly reason?: string } | undefined> {
  const { items } = await client.list(RunAction, { namespace });
  const found = items.map(asJson).filter((action) => {
    const { target, action: verb } = objectAt(action, "spec") ?? {};
    const isOfRun = textAt(target, "name") === run.name && textAt(target, "kind") === run.type.kind;
    return isOfRun && verb === "suspend" && textAt(action, "status", "phase") === "Done";
  });
  const last = found.toSorted((a, b) => finishedAt(a).localeCompare(finishedAt(b))).at(-1);
  if (last === undefined) return undefined;
  const [by, reason] = [textAt(last, "status", "by"), textAt(last, "spec", "reason")];
  return { ...(by === undefined ? {} : { by }), ...(reason === undefined ? {} : { reason }) };
}

const finishedAt = (action: JsonObject): string => textAt(action, "status", "finishTime") ?? "";
