import type { ActionName } from "#engine/index.ts";
import { type Clock, isJsonObject, type JsonObject, SlipwayError } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { apiVersionOf, asJson, type KubeObject, type ResourceType, type Stored } from "#kernel/model/index.ts";
import type { NamedRun } from "./runs.ts";

const runActions: ResourceType = {
  group: "slipway.dev",
  version: "v1alpha1",
  kind: "RunAction",
  plural: "runactions",
  namespaced: true,
};

/** What is asked of a run; the fields of a RunAction's spec beside its target. */
export interface ActionRequest {
  readonly action: ActionName;
  readonly step?: string;
  readonly steps?: readonly string[];
  /** retry: not anew, where the language could do either. */
  readonly fromFailed?: boolean;
  readonly values?: JsonObject;
  readonly force?: boolean;
  readonly reason?: string;
}

/** How the controller has judged an action. `message` is for people, and empty when there is nothing to add. */
export interface ActionAnswer {
  readonly phase: "Done" | "Refused";
  readonly message: string;
  /** The name of the run that the action has created, where it is a run of its own. */
  readonly createdRun?: string;
  /** The RunAction itself. */
  readonly object: KubeObject;
}

/** Far longer than a controller that runs needs, so that its absence can be told from its being busy. */
const patienceMs = 15_000;

/**
 * Asks for an action on a run the one way there is, by a RunAction, and waits until it was judged: a refusal is an
 * answer, not an error. Rejects with `action-pending` when nobody has judged it within 15 seconds; the RunAction
 * stays and takes effect later. `signal` ends the waiting, not the action.
 */
export async function act(
  client: ApiClient,
  namespace: string,
  run: Pick<NamedRun, "type" | "name">,
  request: ActionRequest,
  clock: Clock,
  signal: AbortSignal,
): Promise<ActionAnswer> {
  const target = { apiVersion: apiVersionOf(run.type), kind: run.type.kind, name: run.name };
  // Whose command it is stands in the object; with what it was given only we can say.
  const created = await client.create(runActions, {
    apiVersion: apiVersionOf(runActions),
    kind: runActions.kind,
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
    throw new SlipwayError(
      "action-pending",
      `no controller has answered the ${request.action} within ${patienceMs / 1000} s`,
      {
        hint,
        cause: thrown,
      },
    );
  } finally {
    cancel();
  }
}

/** Watches from the revision of the creation on, so that an answer cannot fall between the two. */
async function judged(client: ApiClient, created: Stored, signal: AbortSignal): Promise<ActionAnswer> {
  const { namespace = "default", name, resourceVersion } = created.metadata;
  const watching = { namespace, fieldSelector: `metadata.name=${name}`, resourceVersion, signal };
  for await (const { object } of client.watch(runActions, watching)) {
    const answer = answerOf(object);
    if (answer !== undefined) return answer;
  }
  signal.throwIfAborted();
  throw new SlipwayError("action-lost", `the server ended the watch of runaction/${name}`);
}

/** Undefined while it is new or only accepted. */
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

/** Who has suspended a run last, as far as the RunAction is still there: they are deleted an hour after they were carried out. */
export async function lastSuspend(
  client: ApiClient,
  namespace: string,
  run: Pick<NamedRun, "type" | "name">,
): Promise<{ readonly by?: string; readonly reason?: string } | undefined> {
  const { items } = await client.list(runActions, { namespace });
  const found = items.map(asJson).filter((action) => {
    const { target, action: verb } = objectAt(action, "spec");
    const isOfRun = isJsonObject(target) && target["name"] === run.name && target["kind"] === run.type.kind;
    return isOfRun && verb === "suspend" && objectAt(action, "status")["phase"] === "Done";
  });
  const last = found.toSorted((a, b) => finishedAt(a).localeCompare(finishedAt(b))).at(-1);
  if (last === undefined) return undefined;
  const { by } = objectAt(last, "status");
  const { reason } = objectAt(last, "spec");
  return { ...(typeof by === "string" ? { by } : {}), ...(typeof reason === "string" ? { reason } : {}) };
}

/** Texts of instants sort as the instants do. */
const finishedAt = (action: JsonObject): string => {
  const { finishTime } = objectAt(action, "status");
  return typeof finishTime === "string" ? finishTime : "";
};

const objectAt = (object: JsonObject, name: string): JsonObject => {
  const value = object[name];
  return isJsonObject(value) ? value : {};
};
