import { parseInstant } from "#lib/base/index.ts";
import type { Due } from "#engine/index.ts";
import type { CompiledStep } from "./compiled.ts";
import { isInstant } from "./step-rules.ts";
import { evaluate, runValues, type StaticValues } from "./values.ts";

/** When a `wait` step is due; a past `until` at once. An expression must return an RFC 3339 text. */
export function dueOf({ step, until }: CompiledStep, values: StaticValues): Due {
  const { wait } = step;
  if (wait?.seconds !== undefined) {
    const after = wait.seconds * 1000;
    return () => ({ after });
  }
  const text = wait?.until ?? "";
  if (isInstant(text)) return () => instant(text);
  return (scope) => {
    if (until === undefined) return { error: "the timer has no time" };
    const answer = evaluate(until, values, runValues(scope));
    return answer.ok ? instant(answer.value) : { error: answer.error };
  };
}

function instant(value: unknown): { readonly at: number } | { readonly error: string } {
  const at = typeof value === "string" ? parseInstant(value) : undefined;
  return at === undefined
    ? { error: `expected a time such as 2026-01-31T12:00:00Z, found ${JSON.stringify(value)}` }
    : { at };
}
