import { type JsonObject, type JsonValue, textAt, type Millis } from "#lib/base/index.ts";
import type { ActionName, ObjectRef } from "#engine/index.ts";
import { requestJson, send } from "./api.ts";
import { stream } from "./server.ts";
import { clock } from "./time.ts";

export interface ActionWish {
  readonly target: ObjectRef;
  readonly action: ActionName;
  readonly step?: string;
  readonly fromFailed?: boolean;
  readonly force?: boolean;
  readonly reason?: string;
  readonly values?: JsonObject;
}

export interface ActionAnswer {
  readonly phase: "Accepted" | "Done" | "Refused" | "Sent";
  readonly message?: string;
  /** Name of a run that the action has made. */
  readonly createdRun?: string;
  /** Takes back an action that was sent and has no answer yet. Rejects if one came meanwhile. */
  readonly withdraw?: () => Promise<void>;
}

/** A controller that does not answer is not waited for longer: the action stays, and is answered later. */
const patience: Millis = 10_000;

/** Creates the RunAction and resolves with its controller's answer. Rejects if the server refuses to create it. */
export async function act(wish: ActionWish): Promise<ActionAnswer> {
  const { target, ...rest } = wish;
  const namespace = target.namespace ?? "default";
  const path = `/api/apis/slipway.dev/v1alpha1/namespaces/${encodeURIComponent(namespace)}/runactions`;
  const created = await requestJson<JsonObject>("POST", path, {
    body: {
      apiVersion: "slipway.dev/v1alpha1",
      kind: "RunAction",
      metadata: { generateName: `ui-${wish.action}-` },
      spec: { target, ...rest },
    },
  });
  const answer = answered(created) ?? (await nextAnswer(namespace, created));
  return answer.phase === "Sent" ? { ...answer, withdraw: () => remove(path, created) } : answer;
}

/** Only as it was created: a controller that has answered has acted. */
async function remove(path: string, created: JsonObject): Promise<void> {
  const name = textAt(created, "metadata", "name") ?? "";
  const resourceVersion = textAt(created, "metadata", "resourceVersion");
  await send("DELETE", `${path}/${encodeURIComponent(name)}`, { body: { preconditions: { resourceVersion } } });
}

function answered(action: JsonValue | undefined): ActionAnswer | undefined {
  const phase = textAt(action, "status", "phase");
  if (phase !== "Accepted" && phase !== "Done" && phase !== "Refused") return undefined;
  const [message, createdRun] = [textAt(action, "status", "message"), textAt(action, "status", "createdRun")];
  return { phase, ...(message === undefined ? {} : { message }), ...(createdRun === undefined ? {} : { createdRun }) };
}

function nextAnswer(namespace: string, created: JsonObject): Promise<ActionAnswer> {
  const name = textAt(created, "metadata", "name") ?? "";
  const version = textAt(created, "metadata", "resourceVersion");
  const params = { group: "slipway.dev", version: "v1alpha1", resource: "runactions", namespace, name };
  return new Promise((resolve) => {
    const finish = (answer: ActionAnswer): void => {
      cancel();
      handle.close();
      resolve(answer);
    };
    const cancel = clock.after(patience, () => finish({ phase: "Sent" }));
    const wanted = { what: "kind", params, ...(version === undefined ? {} : { resourceVersion: version }) } as const;
    const handle = stream.subscribe(wanted, ({ object }) => {
      const action = object as JsonObject | undefined;
      const answer = textAt(action, "metadata", "name") === name ? answered(action) : undefined;
      if (answer !== undefined) finish(answer);
    });
  });
}
