import { err, type Result } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { type ResourceType, Secret, type Stored } from "#kernel/model/index.ts";
import type { Notification } from "./schema.ts";
import { readTarget } from "./target-rules.ts";

// Rights of the workflow's writer are checked when posting, so that changes of roles count.

/** From the document, or a Secret that the writer may read. A refusal may pass, because roles change. */
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
    // Without the server's words, which are for readers of Secrets.
    return err(`the Secret "${name}" cannot be read by the writer of the workflow`);
  }
}

interface SecretData {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Stored["metadata"];
  readonly data?: Readonly<Record<string, string>>;
}

/** Answered by every API server for everybody. */
const accessReviews: ResourceType = {
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SelfSubjectAccessReview",
  plural: "selfsubjectaccessreviews",
  namespaced: false,
};

/** Whether the writer may post to this host although it has a private address. */
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

interface AccessReview {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Partial<Stored["metadata"]>;
  readonly spec: object;
  readonly status?: { readonly allowed?: boolean };
}
