import { isJsonObject, type JsonValue, messageOf } from "#lib/base/index.ts";
import type { ApiClient, Ref } from "#kernel/kit/index.ts";
import { isForbidden, isNotFound, keyOf } from "#kernel/model/index.ts";
import { render } from "../compile/values.ts";
import type { Reference } from "../kinds.ts";
import { referenceOf, type StepClients } from "./child.ts";
import type { Attempt, Finding, StepExecutor } from "./executor.ts";
import { filled, type FindMirror, kindNotFound, type Refer, stateOf, unwatched } from "./template.ts";

/**
 * Executes `externalRef` steps: observes a foreign object and never changes it. The uid is pinned when the object is
 * first seen. Missing means waiting before that and failure afterwards. The name may have expressions; the namespace is
 * the workflow's.
 */
export function referenceExecutor({ clientFor }: StepClients, find: FindMirror, refer: Refer): StepExecutor {
  const look = async (attempt: Attempt, signal: AbortSignal): Promise<Finding | undefined> => {
    const wanted = referenceWanted(attempt);
    if (typeof wanted === "string") return lost("ExpressionError", wanted);
    const found = await find(wanted.apiVersion ?? "", wanted.kind ?? "", attempt);
    if (found === "unknown") return kindNotFound(attempt);
    const mirror = filled(found);
    // An object that was seen is waited for.
    if (mirror === undefined) return attempt.reference?.uid === undefined ? unwatched(found) : undefined;
    const { namespace } = attempt.workflow.metadata;
    const key = keyOf({ name: wanted.name ?? "", ...(namespace === undefined ? {} : { namespace }) });
    const place = { type: mirror.type, name: wanted.name ?? "", ...(namespace === undefined ? {} : { namespace }) };
    const pinned = attempt.reference?.uid;
    // Outputs would show the object to readers of the workflow.
    const hidden = pinned === undefined ? await refusedRead(clientFor(attempt.workflow), place, signal) : undefined;
    if (hidden !== undefined) return lost("Forbidden", hidden);
    refer(attempt, mirror, key);
    const object = mirror.children.get(key);
    const expected = pinned ?? wanted.uid;
    if (object !== undefined && (expected === undefined || object.metadata.uid === expected))
      return { is: "child", state: stateOf(attempt, object), reference: referenceOf(object) };
    const what = `${wanted.kind ?? ""} "${wanted.name ?? ""}"`;
    if (pinned !== undefined)
      return lost("ReferenceDeleted", `${what} was ${object === undefined ? "deleted" : "replaced by another object"}`);
    return { is: "refused", reason: "ReferenceNotFound", message: `${what} does not exist yet` };
  };
  return {
    reference(attempt) {
      const wanted = referenceWanted(attempt);
      if (typeof wanted === "string") return undefined;
      // The uid is stored once the object was seen.
      const { uid: _unseen, ...rest } = wanted;
      return rest;
    },
    start: look,
    observe: look,
    // The object is not the step's.
    cancel: () => Promise.resolve(),
  };
}

/** Why the writer may not read the object; undefined if they may, even if it is missing. */
async function refusedRead(client: ApiClient, ref: Ref, signal: AbortSignal): Promise<string | undefined> {
  try {
    await client.get(ref, { signal });
  } catch (thrown) {
    if (isForbidden(thrown)) return messageOf(thrown);
    if (!isNotFound(thrown)) throw thrown;
  }
  return undefined;
}

/** A retry would fail again. */
const lost = (reason: string, message: string): Finding => ({
  is: "child",
  state: { is: "failed", reason, message, retryable: false },
});

function referenceWanted({ step, compiled, values }: Attempt): Reference | string {
  if (step.body === undefined) return "the step has no reference";
  const rendered = render(step.body, compiled, values);
  if (!rendered.ok) return rendered.error;
  const fields = isJsonObject(rendered.value) ? rendered.value : {};
  return {
    apiVersion: textOf(fields["apiVersion"]),
    kind: textOf(fields["kind"]),
    name: textOf(fields["name"]),
    ...(typeof fields["uid"] === "string" ? { uid: fields["uid"] } : {}),
  };
}

const textOf = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");
