import { isJsonObject, type JsonValue, parseDuration } from "#lib/base/index.ts";
import { badRequest, invalidOption } from "#kernel/model/index.ts";
import { maxManagerName } from "../apply/managers.ts";
import type { DeleteRequest, ListRequest, WatchRequest, WriteRequest } from "../verbs/options.ts";
import type { PodLogRequest } from "../verbs/sources.ts";

// The first value counts. Malformed values are 400, others outside their set 422. The verbs check combinations.

const text = (query: URLSearchParams, name: string): string | undefined => query.get(name) ?? undefined;

/** Empty counts as absent; anything else that is no integer is 400. */
function integer(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null || value === "") return undefined;
  if (!/^-?\d{1,15}$/.test(value)) throw badRequest(`${name} must be an integer, found ${JSON.stringify(value)}`);
  return Number(value);
}

/** Also 400 for negative numbers, which Kubernetes treats inconsistently. */
function natural(query: URLSearchParams, name: string): number | undefined {
  const value = integer(query, name);
  if (value !== undefined && value < 0) throw badRequest(`${name} must not be negative, found ${value}`);
  return value;
}

const isTrue = (value: string): boolean => ["true", "1", "t", "T", "True", "TRUE"].includes(value);

/** The values of Go's strconv.ParseBool; others are 400, where Kubernetes takes them for true. */
function flag(query: URLSearchParams, name: string): boolean | undefined {
  const value = query.get(name);
  if (value === null || value === "") return undefined;
  if (isTrue(value)) return true;
  if (["false", "0", "f", "F", "False", "FALSE"].includes(value)) return false;
  throw badRequest(`${name} must be true or false, found ${JSON.stringify(value)}`);
}

/** Whether to indent JSON: as `pretty` says, else for curl and wget as in Kubernetes. */
export function wantsIndent(query: URLSearchParams, userAgent: string | undefined): boolean {
  const pretty = query.get("pretty") ?? "";
  return pretty === "" ? /^(?:curl|Wget)\b/.test(userAgent ?? "") : isTrue(pretty);
}

/** 400 for a `timeout` that is no duration. It limits waiting for an answer, which here never takes long. */
export function checkTimeout(query: URLSearchParams): void {
  const timeout = query.get("timeout") ?? "";
  const parsed = timeout === "" ? undefined : parseDuration(timeout);
  if (parsed?.ok === false) throw badRequest(`invalid timeout specified in the request URL: ${parsed.error}`);
}

function compact<T extends object>(members: { readonly [K in keyof T]: T[K] | undefined }): T {
  // Undefined members are optional in T.
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T;
}

/** A GET on a collection; an empty `namespace` means all. */
export function listRequest(query: URLSearchParams, namespace: string): ListRequest {
  return compact<ListRequest>({
    namespace,
    labelSelector: text(query, "labelSelector"),
    fieldSelector: text(query, "fieldSelector"),
    resourceVersion: text(query, "resourceVersion"),
    resourceVersionMatch: text(query, "resourceVersionMatch"),
    limit: natural(query, "limit"),
    continue: text(query, "continue"),
    sendInitialEvents: flag(query, "sendInitialEvents"),
  });
}

/** A GET with `watch=1`. Paging is ignored; a timeout of 0 lets the server choose. */
export function watchRequest(query: URLSearchParams, namespace: string): WatchRequest {
  const { limit: _limit, continue: _continue, ...list } = listRequest(query, namespace);
  return compact<WatchRequest>({
    ...list,
    allowBookmarks: flag(query, "allowWatchBookmarks"),
    timeoutSeconds: natural(query, "timeoutSeconds"),
  });
}

export const isWatch = (query: URLSearchParams): boolean => flag(query, "watch") === true;

/** `duplicateFields` are the body's. `fieldManager` defaults to the program in User-Agent. */
export function writeRequest(
  query: URLSearchParams,
  duplicateFields: readonly string[],
  userAgent: string | undefined,
): WriteRequest {
  const fieldValidation = query.get("fieldValidation") ?? "";
  if (
    fieldValidation !== "" &&
    fieldValidation !== "Strict" &&
    fieldValidation !== "Warn" &&
    fieldValidation !== "Ignore"
  ) {
    throw invalidOption(
      "fieldValidation",
      `Unsupported value: ${JSON.stringify(fieldValidation)}: supported values: "Ignore", "Strict", "Warn"`,
    );
  }
  const fieldManager = query.get("fieldManager") ?? "";
  if (fieldManager.length > maxManagerName)
    throw invalidOption("fieldManager", `Too long: it may have at most ${maxManagerName} characters`);
  if (!/^\P{C}*$/u.test(fieldManager))
    throw invalidOption("fieldManager", "Invalid value: it may hold printable characters only");
  return {
    dryRun: isDryRun(query.getAll("dryRun")),
    duplicateFields,
    ...(fieldValidation === "" ? {} : { fieldValidation }),
    ...(fieldManager === "" ? {} : { fieldManager }),
    program: programOf(userAgent),
  };
}

/** The part before the first slash: `kubectl/v1.33.0 (linux/amd64)` -> `kubectl`. */
function programOf(userAgent: string | undefined): string {
  const [program = ""] = (userAgent ?? "").split("/");
  return program.replace(/\p{C}/gu, "").slice(0, maxManagerName) || "unknown";
}

/** `force` is only valid for apply. */
export function forceOf(query: URLSearchParams, isApply: boolean): boolean {
  const force = flag(query, "force");
  if (force !== undefined && !isApply)
    throw invalidOption("force", "Forbidden: may not be specified for non-apply patch");
  return force === true;
}

/** `All` is the only stage. */
function isDryRun(values: readonly unknown[]): boolean {
  const wrong = values.find((value) => value !== "All" && value !== "");
  if (wrong === undefined) return values.includes("All");
  throw invalidOption("dryRun", `Unsupported value: ${JSON.stringify(wrong)}: supported values: "All"`);
}

/** From the body (kubectl) and the query (curl). Nulls count as absent, other wrong types are 400. */
export function deleteRequest(query: URLSearchParams, body: JsonValue | undefined): DeleteRequest {
  if (body !== undefined && body !== null && !isJsonObject(body)) throw badRequest("DeleteOptions must be an object");
  const options = isJsonObject(body) ? body : {};
  const { kind = "DeleteOptions", preconditions, dryRun } = options;
  if (kind !== "DeleteOptions")
    throw badRequest(`the body of a DELETE must be DeleteOptions, found ${JSON.stringify(kind)}`);
  if (dryRun !== undefined && dryRun !== null && !Array.isArray(dryRun)) throw badRequest("dryRun must be a list");
  // Ignoring a malformed precondition would delete the object.
  const given = preconditions ?? {};
  if (!isJsonObject(given)) throw badRequest("preconditions must be an object");
  return compact<DeleteRequest>({
    propagationPolicy:
      optionalText(options["propagationPolicy"], "propagationPolicy") ?? text(query, "propagationPolicy"),
    orphanDependents: optionalFlag(options["orphanDependents"]) ?? flag(query, "orphanDependents"),
    gracePeriodSeconds: optionalInteger(options["gracePeriodSeconds"]) ?? integer(query, "gracePeriodSeconds"),
    preconditions: compact<NonNullable<DeleteRequest["preconditions"]>>({
      uid: optionalText(given["uid"], "preconditions.uid"),
      resourceVersion: optionalText(given["resourceVersion"], "preconditions.resourceVersion"),
    }),
    dryRun: isDryRun([...(Array.isArray(dryRun) ? dryRun : []), ...query.getAll("dryRun")]),
  });
}

function optionalText(value: JsonValue | undefined, name: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string") return value;
  throw badRequest(`${name} must be a string`);
}

function optionalFlag(value: JsonValue | undefined): boolean | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "boolean") return value;
  throw badRequest("orphanDependents must be true or false");
}

function optionalInteger(value: JsonValue | undefined): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (Number.isSafeInteger(value)) return Number(value);
  throw badRequest("gracePeriodSeconds must be an integer");
}

/** An empty container means the Pod's only one. */
export interface StreamRequest {
  readonly container: string;
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly terminal: boolean;
}

/** For `pods/attach` and `pods/exec`. A terminal has no separate stderr. */
export function streamRequest(query: URLSearchParams): StreamRequest {
  const terminal = flag(query, "tty") ?? false;
  const stdin = flag(query, "stdin") ?? false;
  const stdout = flag(query, "stdout") ?? false;
  const stderr = (flag(query, "stderr") ?? false) && !terminal;
  if (!stdin && !stdout && !stderr) throw badRequest("you must specify at least 1 of stdin, stdout, stderr");
  return { container: text(query, "container") ?? "", stdin, stdout, stderr, terminal };
}

export function commandOf(query: URLSearchParams): readonly string[] {
  const command = query.getAll("command");
  if ((command[0] ?? "") === "") throw badRequest("you must specify at least one command for the container");
  return command;
}

/** Each port has two channels, whose numbers are one byte. */
const mostPorts = 64;

/** The ports of `pods/portforward` in order: repeated or comma-separated. */
export function portsOf(query: URLSearchParams): readonly number[] {
  const ports = query.getAll("ports").flatMap((list) => list.split(","));
  if (ports.length === 0) throw badRequest("you must specify at least one port: ports=80");
  if (ports.length > mostPorts) throw badRequest(`at most ${mostPorts} ports can be forwarded by one connection`);
  return ports.map((word) => {
    const port = /^\d{1,5}$/.test(word) ? Number(word) : 0;
    if (port < 1 || port > 65_535) throw badRequest(`port ${JSON.stringify(word)} must be a number from 1 to 65535`);
    return port;
  });
}

/** For `pods/log`; an empty container means the Pod's only one. */
export function logRequest(query: URLSearchParams): Omit<PodLogRequest, "container"> & { readonly container?: string } {
  const sinceSeconds = natural(query, "sinceSeconds");
  const sinceTime = text(query, "sinceTime");
  if (sinceSeconds !== undefined && sinceTime !== undefined) {
    throw badRequest("at most one of sinceTime and sinceSeconds may be set");
  }
  return compact<ReturnType<typeof logRequest>>({
    container: text(query, "container"),
    follow: flag(query, "follow"),
    previous: flag(query, "previous"),
    timestamps: flag(query, "timestamps"),
    tailLines: natural(query, "tailLines"),
    limitBytes: natural(query, "limitBytes"),
    sinceSeconds,
    sinceTime,
    stream: logStream(text(query, "stream")),
  });
}

/** Kubernetes' words (KEP-3288); both streams by default. */
function logStream(word: string | undefined): PodLogRequest["stream"] {
  switch (word) {
    case undefined:
    case "":
    case "All":
      return undefined;
    case "Stdout":
      return "stdout";
    case "Stderr":
      return "stderr";
    default:
      throw badRequest("stream must be All, Stdout or Stderr");
  }
}
