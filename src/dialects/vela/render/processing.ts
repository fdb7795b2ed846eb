import {
  defined,
  type Clock,
  err,
  type JsonObject,
  type JsonValue,
  objectAt,
  ok,
  type Result,
  textAt,
} from "#lib/base/index.ts";
import { canonicalJson, parseJson } from "#lib/json/index.ts";
import { performHttp } from "#kernel/couriers/index.ts";
import type { Cue, CueTemplate } from "#kernel/template/index.ts";
import type { AppIdentity } from "../app.ts";
import { failureText } from "./failure-text.ts";

// The legacy section `processing` of a trait: one request, whose answer the rest of the template reads.

/** The answer to `processing.http`. The error is for people. */
export type Answers = (
  identity: AppIdentity,
  http: JsonObject,
  signal: AbortSignal,
) => Promise<Result<JsonValue, string>>;

/** The source with its answer as `processing.output`; without the section, the source itself. */
export async function withAnswer<S extends CueTemplate>(
  { cue, signal }: { readonly cue: Cue; readonly signal: AbortSignal },
  source: S,
  data: { readonly parameter: JsonObject; readonly context: JsonObject },
  answer: (http: JsonObject) => Promise<Result<JsonValue, string>>,
): Promise<Result<S, string>> {
  if (!/^\s*processing\s*:/m.test(source.text)) return ok(source);
  const found = await cue.lookup({ ...source, ...data, done: [] }, ["processing.http"], signal);
  if (!found.ok) return err(failureText(found.error));
  const [asked] = found.value;
  const http = objectAt(asked?.value);
  if (http === undefined)
    return asked?.exists === true
      ? err(`processing.http: ${asked.problems[0]?.message ?? "expected an object"}`)
      : ok(source);
  const given = await answer(http);
  return given.ok
    ? ok({ ...source, text: `${source.text}\nprocessing: output: ${JSON.stringify(given.value)}\n` })
    : err(`processing.http: ${given.error}`);
}

const plainText = (value: JsonValue = ""): string => (typeof value === "string" ? value : JSON.stringify(value));

const mostKept = 200;

/** Asks once for each revision, because every pass renders. What was not answered is asked again. */
export function keptAnswers(denied: readonly string[], clock: Clock): Answers {
  const kept = new Map<string, JsonValue>();
  return async ({ uid, generation, revision }, http, signal) => {
    const key = canonicalJson([uid, generation, revision, http]);
    const known = kept.get(key);
    if (known !== undefined) return ok(known);
    const url = textAt(http, "url") ?? "";
    if (!URL.canParse(url)) return err("url: expected a URL such as https://example.com/token");
    const header = Object.entries(objectAt(http, "request", "header") ?? {});
    const body = textAt(http, "request", "body");
    const answered = await performHttp(
      {
        kind: "http",
        method: textAt(http, "method") ?? "GET",
        url,
        headers: Object.fromEntries(header.map(([name, value]) => [name, plainText(value)])),
        ...defined({ body }),
        timeoutMs: 3_000,
      },
      { denied, clock, signal },
    );
    if (!answered.ok) return err(answered.message);
    const read = parseJson(textAt(answered.value, "body") ?? "");
    if (!read.ok) return err("the answer is not JSON");
    if (kept.size >= mostKept) kept.clear();
    kept.set(key, read.value);
    return ok(read.value);
  };
}
