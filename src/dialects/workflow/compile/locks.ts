import { err, type JsonObject, ok, type Result } from "#lib/base/index.ts";
import { subdomainRule } from "#kernel/model/index.ts";
import type { CompiledStep } from "./compiled.ts";
import { render, type RunValues, type StaticValues } from "./values.ts";

/** Whether lock names have expressions, which only a run can evaluate. */
export const hasNamedLocks = ({ locks = [] }: CompiledStep["step"]): boolean =>
  locks.some(({ name }) => name.includes("${{"));

export const writtenLocks = ({ locks = [] }: CompiledStep["step"]): readonly string[] =>
  inOrder(locks.map(({ name }) => name));

/** The limits of a step or item in byte order, which is the order of acquisition, without duplicates. */
export function lockNames(
  { step, locks: template }: CompiledStep,
  values: StaticValues,
  run: RunValues,
  local?: JsonObject,
): Result<readonly string[], string> {
  if (template === undefined) return ok(writtenLocks(step));
  const rendered = render(template, values, local === undefined ? run : { ...run, local });
  if (!rendered.ok) return err(`locks: ${rendered.error}`);
  const found = Array.isArray(rendered.value) ? rendered.value : [];
  const names = found.map((name) => (typeof name === "string" ? name : JSON.stringify(name)));
  for (const name of names) {
    const wrong = subdomainRule(name);
    if (wrong !== undefined) return err(`locks: ${wrong}, found ${JSON.stringify(name)}`);
  }
  return ok(inOrder(names));
}

const inOrder = (names: readonly string[]): readonly string[] => [...new Set(names)].sort();
