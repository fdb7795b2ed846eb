import {
  formatMicroTime,
  type Instant,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listAt,
} from "#lib/base/index.ts";
import type { Identity } from "../authz/identity.ts";

/** The facts of an answered request; parts that it never reached are absent. */
export interface AuditFacts {
  readonly id: string;
  readonly startedAt: Instant;
  /** Until the answer began. */
  readonly ms: number;
  readonly ip: string;
  readonly code: number;
  /** The effective identity; absent without authentication. */
  readonly identity?: Identity;
  /** The impersonator of `identity`. */
  readonly caller?: Identity;
  readonly verb: string;
  /** For requests without a resource. */
  readonly path?: string;
  readonly group?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  /** From the query; `isDryDeletion` checks the body of a deletion. */
  readonly isDryRun?: boolean;
  /** The decoded body of a write. */
  readonly body?: JsonValue;
  /** The client's Content-Length; NaN without one. */
  readonly bodyBytes?: number;
}

/** Longer bodies are replaced by their size. */
const maxBodyBytes = 16 * 1024;

/** One line of the audit log, without its newline and without secrets (`redacted`). */
export function auditLine(facts: AuditFacts): string {
  const { identity, caller, group, resource, subresource, namespace, name, path } = facts;
  const record: JsonObject = {
    time: formatMicroTime(facts.startedAt),
    id: facts.id,
    ...(identity === undefined ? {} : { user: identity.user, groups: [...identity.groups] }),
    ...(caller === undefined || caller === identity ? {} : { by: caller.user }),
    ip: facts.ip,
    verb: facts.verb,
    ...present({ path, group, resource, ns: namespace, name, sub: subresource }),
    code: facts.code,
    ms: Math.round(facts.ms * 1000) / 1000,
    ...(facts.isDryRun === true || isDryDeletion(facts) ? { dryRun: true } : {}),
  };
  const body = bodyText(facts);
  const text = JSON.stringify(record);
  return body === "" ? text : `${text.slice(0, -1)},${body}}`;
}

/** DeleteOptions are the body of a DELETE and part of an Eviction. */
function isDryDeletion({ verb, subresource, body }: AuditFacts): boolean {
  if (verb === "delete" || verb === "deletecollection") return listAt(body, "dryRun").includes("All");
  return subresource === "eviction" && listAt(body, "deleteOptions", "dryRun").includes("All");
}

const present = (members: Readonly<Record<string, string | undefined>>): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([, text]) => text !== undefined && text !== ""));

/** The last member. A long body is not even encoded, which would block other requests. */
function bodyText({ body, bodyBytes = 0, resource = "", subresource = "" }: AuditFacts): string {
  if (body === undefined || body === null) return "";
  if (bodyBytes > maxBodyBytes) return `"bodySize":${bodyBytes}`;
  const text = JSON.stringify(redacted(resource, subresource, body));
  return text.length > maxBodyBytes ? `"bodySize":${text.length}` : `"body":${text}`;
}

const mask = "<redacted>";
/** Where a client-side apply keeps the whole object once more. */
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/** The members of a Secret without secrets. */
const plainMembers: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata", "type", "immutable"]);

/** Hides Secrets and tokens wherever a body contains them, even one sent to the wrong path or in a Workflow's step. */
export function redacted(resource: string, subresource: string, body: JsonValue): JsonValue {
  if (resource === "secrets") return redactedSecret(body);
  if (resource === "tokenreviews" && isJsonObject(body)) return { ...body, spec: mask };
  if (subresource === "token" && isJsonObject(body)) return { ...body, status: mask };
  return withoutSecrets(body);
}

/** The server limits the depth of bodies. */
function withoutSecrets(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (!isJsonObject(value)) return value;
  if (value["kind"] === "Secret") return redactedSecret(value);
  const isReview = value["kind"] === "TokenReview";
  return mapMembers(value, (member, name) => {
    if (name === lastApplied || (isReview && name === "spec")) return mask;
    return name === "stringData" ? masked(member) : withoutSecrets(member);
  });
}

/** Redacts misspelt members too: a request with `stringdata` is refused, but contains the values. */
function redactedSecret(body: JsonValue): JsonValue {
  if (!isJsonObject(body)) return mask;
  return mapMembers(body, (member, name) => {
    if (name === "items" && Array.isArray(member)) return member.map(redactedSecret);
    return plainMembers.has(name) ? withoutSecrets(member) : masked(member);
  });
}

/** Hides values and keeps keys. */
const masked = (values: JsonValue): JsonValue =>
  isJsonObject(values) ? mapMembers(values, () => mask) : values === null ? null : mask;

const mapMembers = (object: JsonObject, change: (value: JsonValue, name: string) => JsonValue): JsonObject =>
  Object.fromEntries(
    Object.entries(object).map(([name, value]) => [name, value === undefined ? undefined : change(value, name)]),
  );
