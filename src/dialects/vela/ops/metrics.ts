import { type JsonValue, listAt, numberAt, objectsAt, parseDuration, textAt } from "#lib/base/index.ts";
import { parseJson } from "#lib/json/index.ts";
import { type Action, done, failure, inBothForms } from "./form.ts";
import type { ActionScope } from "./provider.ts";

const comparisons: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  ">=": (a, b) => a >= b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  "<": (a, b) => a < b,
  "==": (a, b) => a === b,
  "!=": (a, b) => a !== b,
};

/** A condition must hold, or fail, for some time. When it began to is a note of the step. */
const check: Action = async (params, scope) => {
  const [, operator = "", limit = ""] =
    /^\s*(>=|<=|==|!=|>|<)\s*(-?[\d.eE+-]+)\s*$/.exec(textAt(params, "condition") ?? "") ?? [];
  const compare = comparisons[operator];
  if (compare === undefined) return failure("condition: expected a comparison such as >=0.95");
  const [duration, failDuration] = [
    parseDuration(textAt(params, "duration") ?? "5m"),
    parseDuration(textAt(params, "failDuration") ?? "2m"),
  ];
  if (!duration.ok || !failDuration.ok) return failure("duration and failDuration: expected durations such as 5m");
  const value = await query(textAt(params, "metricEndpoint") ?? "", textAt(params, "query") ?? "", scope);
  if (typeof value === "string") return failure(value);
  const holds = compare(value, Number(limit));
  const now = scope.clock.now();
  const since = heldSince(scope, holds, now);
  if (holds) {
    const result = now - since >= duration.value;
    return done({
      result,
      failed: false,
      message: result ? "The metric check has passed successfully." : `The condition holds with the value ${value}.`,
    });
  }
  const failed = now - since >= failDuration.value;
  return done({ result: false, failed, message: `The condition does not hold: the value is ${value}.` });
};

function heldSince({ notes, path }: ActionScope, holds: boolean, now: number): number {
  const key = `check ${path}`;
  const noted = notes.get(key);
  const since = numberAt(noted, "since");
  if (since !== undefined && (noted as { readonly holds?: JsonValue }).holds === holds) return since;
  notes.set(key, { holds, since: now });
  return now;
}

/** The value of the first series, or what is wrong. */
async function query(endpoint: string, text: string, scope: ActionScope): Promise<number | string> {
  const base = `${endpoint.replace(/\/$/, "")}/api/v1/query`;
  if (!URL.canParse(base)) return "metricEndpoint: expected a URL";
  const url = `${base}?query=${encodeURIComponent(text)}`;
  const answer = await scope.ask({ kind: "http", method: "GET", url, headers: {}, timeoutMs: 10_000 });
  if (answer.kind !== "continue") return answer.message ?? "the query failed";
  const parsed = parseJson(textAt(answer.result, "body") ?? "");
  if (!parsed.ok || textAt(parsed.value, "status") !== "success")
    return `the metrics server refused the query "${text}"`;
  const [series] = objectsAt(parsed.value, "data", "result");
  const [, value] = series === undefined ? listAt(parsed.value, "data", "result") : listAt(series, "value");
  const number = Number(typeof value === "string" || typeof value === "number" ? value : Number.NaN);
  return Number.isNaN(number) ? `the query "${text}" has no result` : number;
}

export const metricsProviders = inBothForms("metrics", { promCheck: check });
