import { setTimeout } from "node:timers/promises";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/lib/base/index.ts";
import { wharfApiV5 } from "../../../src/kernel/rpc/index.ts";
import { isRefused, RpcClient } from "../../../src/kernel/rpc/testing/index.ts";
import type { Question, SentLine } from "./api-questions.ts";

/** What of an answer is compared: no time of its own, no address, no sentence. */
export interface Answer {
  /** Of HTTP, or how a call ended. */
  readonly status: number | string;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON as `factsOf` leaves it, another text as it is; undefined where there is nothing. */
  readonly body?: JsonValue;
  /** The type of a document of RFC 7807, which has all six members. */
  readonly problem?: string;
  /** What its `instance` has beyond the path that was asked. */
  readonly at?: string;
  readonly errors?: "null" | "none" | "some";
}

/** Asks wharf-api at an address, `http://host:port`; redirects are answers. */
export async function ask(url: string, { method, path, body, headers = {}, by }: Question): Promise<Answer> {
  const isText = body === undefined || typeof body === "string" || body instanceof FormData;
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { "user-agent": "questions", ...headers },
    body: isText ? (body ?? null) : JSON.stringify(body),
    redirect: "manual",
  });
  const text = await response.text();
  const known = { status: response.status, ...headersOf(response) };
  if (text === "") return known;
  if (!(response.headers.get("content-type") ?? "").includes("json")) return { ...known, body: text };
  const json = parsed(text);
  if (json === undefined) return { ...known, body: "(no JSON)" };
  return {
    ...known,
    ...(problemIn(json, path, response.status) ?? { body: factsOf(by === undefined ? json : picked(json, by)) }),
  };
}

/** Sends lines over gRPC: how the call ended, and how many were stored. */
export async function sendLines(url: string, lines: readonly SentLine[]): Promise<Answer> {
  const client = new RpcClient(Number(new URL(url).port));
  try {
    const answer = await client.clientStream(wharfApiV5.Builds.method.createLogStream, lines).answer;
    return isRefused(answer) ? { status: answer.code } : { status: "OK", body: Number(answer.linesInserted) };
  } finally {
    client.close();
  }
}

/** Follows the log of a build, to which lines are posted until the first of them comes: its event. */
export async function firstEvent(url: string, buildId: number): Promise<Answer> {
  const over = new AbortController();
  const following = fetch(`${url}/api/build/${buildId}/stream`, { signal: over.signal });
  const seen = following.then(async (response) => {
    let text = "";
    for await (const bytes of response.body ?? []) {
      text += Buffer.from(bytes as Uint8Array).toString();
      const event = text.split("\n\n").find((part) => part.includes("data:"));
      if (event !== undefined && text.includes(`${event}\n\n`)) return { response, event };
    }
    throw new Error("the stream has ended without a line");
  });
  // Released servers answer when there is something to be told, and tell only who has asked before.
  const line = { message: "live", timestamp: "2026-01-31T12:00:00Z" };
  const post = { name: "", method: "POST", path: `/api/build/${buildId}/log`, body: line };
  let found: Awaited<typeof seen> | undefined;
  while (found === undefined) {
    await ask(url, post);
    found = await Promise.race([seen, setTimeout(100, undefined)]);
  }
  over.abort();
  const fields = found.event.split("\n").map((field) => /^(\w+): ?(.*)$/.exec(field) ?? []);
  const body = Object.fromEntries(
    fields.map(([, name = "", value = ""]) => [name, name === "id" ? "(number)" : value]),
  );
  const data = parsed(body["data"] ?? "");
  const numbered = isJsonObject(data) ? { ...data, logId: "(number)" } : data;
  return {
    status: found.response.status,
    ...headersOf(found.response),
    body: { ...body, data: factsOf(numbered ?? null) },
  };
}

/** Headers that say how to read an answer; JSON is what there is to be. */
function headersOf({ headers }: Response): { readonly headers?: Readonly<Record<string, string>> } {
  const told = ["content-type", "content-disposition", "location"].flatMap((name) => {
    const value = headers.get(name);
    const isUsual =
      value === null || value === "application/json; charset=utf-8" || value === "application/problem+json";
    return isUsual ? [] : [[name, value] as const];
  });
  return told.length === 0 ? {} : { headers: Object.fromEntries(told) };
}

/** Undefined for what is no document, or more than one. */
function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** A document of RFC 7807 with the members that released servers write; undefined for anything else. */
function problemIn(
  json: JsonValue,
  path: string,
  status: number,
): Pick<Answer, "problem" | "at" | "errors"> | undefined {
  if (!isJsonObject(json) || Object.keys(json).join(" ") !== "type title status detail instance errors")
    return undefined;
  const { type, title, status: told, detail, instance, errors } = json;
  const isWhole =
    typeof type === "string" && typeof title === "string" && told === status && typeof detail === "string";
  if (!isWhole || typeof instance !== "string" || !instance.startsWith(path)) return undefined;
  const at = instance.slice(path.length);
  const texts = Array.isArray(errors) ? (errors.length === 0 ? "none" : "some") : "null";
  return { problem: type, ...(at === "" ? {} : { at }), errors: texts };
}

/** A list by one member of its items; a refusal is none. */
function picked(json: JsonValue, by: string): JsonValue {
  if (!isJsonObject(json) || !Array.isArray(json["list"])) return json;
  return { ...json, list: json["list"].map((item) => (isJsonObject(item) ? (item[by] ?? null) : item)) };
}

/** Members whose texts are for people, or differ with every build of a server. */
const forPeople = new Set(["version", "buildGitCommit", "buildDate"]);

/** JSON whose values are facts: of its texts without times and addresses that differ from one day or one server to the next. */
function factsOf(value: JsonValue): JsonValue {
  if (typeof value === "string") return factsOfText(value);
  if (Array.isArray(value)) return value.map(factsOf);
  if (!isJsonObject(value)) return value;
  const facts = Object.entries(value).map(([name, member]) => [
    name,
    isForPeople(name, value) ? "(text)" : factsOf(member ?? null),
  ]);
  return Object.fromEntries(facts) as JsonObject;
}

const isForPeople = (name: string, of: JsonObject): boolean =>
  typeof of[name] === "string" && (forPeople.has(name) || (name === "message" && "isHealthy" in of));

/** Times of the questions stay. */
const factsOfText = (text: string): string =>
  /^(?!2026-01-31T)\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)$/.test(text)
    ? "(time)"
    : text.replace(/http:\/\/127\.0\.0\.1:\d+/g, "(address)");
