import { err, type JsonObject, type JsonValue, ok, type Result } from "#lib/base/index.ts";
import { parseArgument } from "./compile/params.ts";
import { stepSources } from "./compile/step-source.ts";
import type { Workflow } from "./kinds.ts";
import { specOf } from "./spec-of.ts";

/** Reads the values of an approval by the types of its inputs; all unreadable ones in one line. */
export function readApprovalValues(
  workflow: Workflow,
  step: string,
  texts: Readonly<Record<string, string>>,
): Result<JsonObject, string> {
  const { approval } = stepSources(specOf(workflow)).find(({ key }) => key === step)?.step ?? {};
  const problems: string[] = [];
  const values: [string, JsonValue][] = [];
  for (const [name, text] of Object.entries(texts)) {
    const input = approval?.inputs?.find((known) => known.name === name);
    const read = input === undefined ? ok(text) : parseArgument(input, text);
    if (read.ok) values.push([name, read.value]);
    else problems.push(`${name}: ${read.error}`);
  }
  return problems.length === 0 ? ok(Object.fromEntries(values)) : err(problems.join("; "));
}
