import { formatTime, type JsonObject, listAt, numberAt, objectAt, textAt } from "#lib/base/index.ts";
import {
  badRequest,
  invalid,
  invalidValue,
  notFound,
  Pod,
  type ResourceType,
  Secret,
  ServiceAccount,
  type StatusCause,
  uidMismatch,
} from "#kernel/model/index.ts";
import { compileSchema } from "#lib/schema/index.ts";
import { definition, definitionNames } from "#kernel/specs/index.ts";
import { type AccountTokens, type BoundObject, issuer } from "../authz/account-tokens.ts";
import { unreadableBy } from "../kinds/built-in.ts";
import { refuseUnreadable } from "./admission.ts";
import type { ApiContext } from "./context.ts";

/** The body of `serviceaccounts/token`; never stored. */
export const tokenRequestType = {
  group: "authentication.k8s.io",
  version: "v1",
  kind: "TokenRequest",
  plural: "tokenrequests",
  namespaced: true,
} as const satisfies ResourceType;

/** An hour, as in Kubernetes. */
const defaultSeconds = 3600;
const leastSeconds = 600;
const mostSeconds = 2 ** 32;
/** Kinds that a token may be bound to. */
const boundKinds = { Pod, Secret } as const;

/** 404 when account or bound object is missing, 409 for another uid, 422 for durations out of bounds. */
export function requestToken(
  context: ApiContext,
  accounts: AccountTokens,
  target: { readonly namespace: string; readonly name: string },
  body: unknown,
): JsonObject {
  const request = readRequest(body, target);
  const account = context.store.get({ group: "", resource: "serviceaccounts", ...target });
  if (account === undefined) throw notFound(ServiceAccount, target.name);
  const seconds = numberAt(request, "spec", "expirationSeconds") ?? defaultSeconds;
  const asked = listAt(request, "spec", "audiences").filter((audience) => typeof audience === "string");
  const audiences = asked.length === 0 ? [issuer] : asked;
  const causes = checkSeconds(seconds);
  if (causes.length > 0) throw invalid(tokenRequestType, "", causes);
  const bound = boundObject(context, target, objectAt(request, "spec", "boundObjectRef"));
  const expiresAt = context.clock.now() + seconds * 1000;
  const token = accounts.issue({
    namespace: target.namespace,
    account: { name: target.name, uid: account.uid },
    audiences,
    expiresAt,
    ...(bound === undefined ? {} : { bound }),
  });
  return {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    metadata: { name: target.name, namespace: target.namespace, creationTimestamp: formatTime(context.clock.now()) },
    spec: { ...objectAt(request, "spec"), audiences, expirationSeconds: seconds },
    status: { token, expirationTimestamp: formatTime(expiresAt) },
  };
}

/** Everything in the body is optional, and so is the body. */
function readRequest(body: unknown, target: { readonly namespace: string; readonly name: string }): JsonObject {
  const schema = compileSchema({ $ref: definitionNames.tokenRequest }, { resolve: definition });
  // Older clients send null for absent members.
  const sent = schema.prune((body ?? {}) as JsonObject).value as JsonObject;
  const { kind = tokenRequestType.kind } = sent;
  if (kind !== tokenRequestType.kind)
    throw badRequest(`the body must be a TokenRequest, found ${JSON.stringify(kind)}`);
  refuseUnreadable(sent, { type: tokenRequestType, unreadable: (object) => unreadableBy(schema, object) });
  const causes = schema.validate(sent).filter(({ field }) => field !== "spec");
  if (causes.length > 0) throw invalid(tokenRequestType, "", causes);
  const name = textAt(sent, "metadata", "name") ?? target.name;
  const namespace = textAt(sent, "metadata", "namespace") ?? target.namespace;
  if (name !== target.name) throw badRequest("the name of the token request is not that of the account in the path");
  if (namespace !== target.namespace) throw badRequest("the namespace of the token request is not that of the path");
  return sent;
}

/** Kubernetes' bounds. */
function checkSeconds(seconds: number): readonly StatusCause[] {
  const field = "spec.expirationSeconds";
  if (seconds < leastSeconds) return [invalidValue(field, seconds, "may not specify a duration less than 10 minutes")];
  if (seconds > mostSeconds) {
    return [invalidValue(field, seconds, "may not specify a duration larger than 2^32 seconds")];
  }
  return [];
}

/** A Pod must belong to the account, or the token would outlive its purpose. */
function boundObject(
  context: ApiContext,
  { namespace, name: account }: { readonly namespace: string; readonly name: string },
  ref: JsonObject | undefined,
): BoundObject | undefined {
  if (ref === undefined) return undefined;
  const kind = textAt(ref, "kind");
  const name = textAt(ref, "name") ?? "";
  if ((kind !== "Pod" && kind !== "Secret") || (textAt(ref, "apiVersion") ?? "v1") !== "v1") {
    throw badRequest(
      `cannot bind token for serviceaccount ${JSON.stringify(account)} to object kind ${JSON.stringify(kind ?? "")}`,
    );
  }
  const type = boundKinds[kind];
  const entry = context.store.get({ group: "", resource: type.plural, namespace, name });
  if (entry === undefined) throw notFound(type, name);
  const wanted = textAt(ref, "uid");
  if (wanted !== undefined && wanted !== entry.uid) throw uidMismatch(type, name, wanted, entry.uid);
  const owner = textAt(entry.object(), "spec", "serviceAccountName") ?? "default";
  if (kind === "Pod" && owner !== account) {
    throw badRequest(
      `cannot bind token for serviceaccount ${JSON.stringify(account)} to a pod running with ${JSON.stringify(owner)}`,
    );
  }
  return { kind, name, uid: entry.uid };
}
