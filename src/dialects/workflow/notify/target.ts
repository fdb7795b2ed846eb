import { err, type Result } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { type ResourceType, Secret, type Stored } from "#kernel/model/index.ts";
import type { Notification } from "./schema.ts";
import { readTarget } from "./target-rules.ts";

// Both questions are asked as the writer of the workflow, at the moment something is posted: rights count as they are then, so that what was
// refused is posted when a role allows it, and what was allowed is not when it does not any more.

/** From the document, or from a Secret by the rights of who wrote it. A refusal is a problem like others: roles may change. */
export async function targetOf(
  acting: ApiClient,
  namespace: string,
  { url, secretRef }: Notification,
  signal: AbortSignal,
): Promise<Result<URL, string>> {
  if (secretRef === undefined) return readTarget(url ?? "");
  const { name, key } = secretRef;
  try {
    const { data } = await acting.get<SecretData>({ type: Secret, namespace, name }, { signal });
    const text = data?.[key];
    if (text === undefined) return err(`the Secret "${name}" has no key "${key}"`);
    return readTarget(Buffer.from(text, "base64").toString("utf8"));
  } catch {
    signal.throwIfAborted();
    // The words of the refusal are for who reads Secrets; that it is not to be had is all that is told here.
    return err(`the Secret "${name}" cannot be read by the writer of the workflow`);
  }
}

/** As much of a Secret as is looked at; its values are base64. */
interface SecretData {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Stored["metadata"];
  readonly data?: Readonly<Record<string, string>>;
}

/** May I do this? Every API server answers it, and everybody may ask. */
const accessReviews: ResourceType = {
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SelfSubjectAccessReview",
  plural: "selfsubjectaccessreviews",
  namespaced: false,
};

/** Whether who wrote the workflow may have this host posted to, although it has an address that is not public. */
export async function isAllowed(
  acting: ApiClient,
  namespace: string,
  host: string,
  signal: AbortSignal,
): Promise<boolean> {
  const right = { verb: "use", group: "slipway.dev", resource: "notificationtargets", namespace, name: host };
  const asked: AccessReview = {
    apiVersion: "authorization.k8s.io/v1",
    kind: accessReviews.kind,
    metadata: {},
    spec: { resourceAttributes: right },
  };
  const answer = await acting.create<AccessReview>(accessReviews, asked, { signal });
  return answer.status?.allowed === true;
}

/** A question in the form of an object: it is answered, and not stored. */
interface AccessReview {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Partial<Stored["metadata"]>;
  readonly spec: object;
  readonly status?: { readonly allowed?: boolean };
}
