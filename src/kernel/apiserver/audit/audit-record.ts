import {
  formatMicroTime,
  type Instant,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listAt,
} from "#lib/base/index.ts";
import type { Identity } from "../authz/identity.ts";

/** What is known of a request when it has been answered; parts that it never came to are absent. */
export interface AuditFacts {
  readonly id: string;
  readonly startedAt: Instant;
  /** Until the answer began. */
  readonly ms: number;
  readonly ip: string;
  readonly code: number;
  /** Whose rights counted; absent when nobody was recognised. */
  readonly identity?: Identity;
  /** Who acted as `identity`. */
  readonly caller?: Identity;
  readonly verb: string;
  /** Of requests that are about no resource. */
  readonly path?: string;
  readonly group?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  /** By its query. A deletion may say it in its body as well, which is looked at here. */
  readonly isDryRun?: boolean;
  /** Of a write: what was sent, as it was decoded. */
  readonly body?: JsonValue;
  /** As announced by the client; NaN when it was not. */
  readonly bodyBytes?: number;
}

/** Longer bodies are left out and only their size is told: a log is no backup. */
const maxBodyBytes = 16 * 1024;

/** One line of the audit log, without its newline. Nothing that opens a door is in it: see `redacted`. */
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

/**
 * DeleteOptions are the body of a DELETE and a part of an Eviction; in any other body the member means something else.
 */
function isDryDeletion({ verb, subresource, body }: AuditFacts): boolean {
  if (verb === "delete" || verb === "deletecollection") return listAt(body, "dryRun").includes("All");
  return subresource === "eviction" && listAt(body, "deleteOptions", "dryRun").includes("All");
}

/** Empty texts say nothing. */
const present = (members: Readonly<Record<string, string | undefined>>): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([, text]) => text !== undefined && text !== ""));

/**
 * The last member of the record. A body that was announced as long is not even written as text: that would hold up
 * others.
 */
function bodyText({ body, bodyBytes = 0, resource = "", subresource = "" }: AuditFacts): string {
  if (body === undefined || body === null) return "";
  if (bodyBytes > maxBodyBytes) return `"bodySize":${bodyBytes}`;
  const text = JSON.stringify(redacted(resource, subresource, body));
  return text.length > maxBodyBytes ? `"bodySize":${text.length}` : `"body":${text}`;
}

const mask = "<redacted>";
/** Where a client-side apply keeps the whole object once more. */
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/** Members of a Secret that are none. */
const plainMembers: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata", "type", "immutable"]);

/**
 * The body without what must not be in a log: the values of Secrets, tokens that are asked about, and copies of either.
 * A patch of a Secret that is a list of operations is left out whole, because its values may stand anywhere. What a
 * body calls itself counts as well as where it was sent: a Secret that was sent to the wrong place is one, and so is
 * one that a step of a Workflow creates.
 */
export function redacted(resource: string, subresource: string, body: JsonValue): JsonValue {
  if (resource === "secrets") return redactedSecret(body);
  if (resource === "tokenreviews" && isJsonObject(body)) return { ...body, spec: mask };
  if (subresource === "token" && isJsonObject(body)) return { ...body, status: mask };
  return withoutSecrets(body);
}

/** Bodies are as deep as the server lets them be. */
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

/** Not only `data` and `stringData`: who writes `stringdata` is refused, and has sent the values all the same. */
function redactedSecret(body: JsonValue): JsonValue {
  if (!isJsonObject(body)) return mask;
  return mapMembers(body, (member, name) => {
    if (name === "items" && Array.isArray(member)) return member.map(redactedSecret);
    return plainMembers.has(name) ? withoutSecrets(member) : masked(member);
  });
}

/** Keys are names, and help; values are the secret. */
const masked = (values: JsonValue): JsonValue =>
  isJsonObject(values) ? mapMembers(values, () => mask) : values === null ? null : mask;

const mapMembers = (object: JsonObject, change: (value: JsonValue, name: string) => JsonValue): JsonObject =>
  Object.fromEntries(
    Object.entries(object).map(([name, value]) => [name, value === undefined ? undefined : change(value, name)]),
  );
