import { resolve } from "node:path";
import { hasErrors, isJsonObject, messageOf } from "#lib/base/index.ts";
import { type Environment, type Output, printProblems, readParams } from "#kernel/command/index.ts";
import type { WharfRunOptions } from "./run-options.ts";
import { type Diagnostic, excerptOf, formatDiagnostic } from "../definition/diagnostics.ts";
import type { ReadDefinition } from "../world/read-definition.ts";
import { readStart } from "../world/definition-file.ts";
import { maxBytes } from "../definition/text.ts";
import { givenInputs } from "../world/given-inputs.ts";
import { readYaml } from "#lib/yaml/index.ts";

export const worldOf = ({ all, home, variable }: Environment, signal: AbortSignal) => ({
  environment: all,
  home,
  variable,
  platform: process.platform,
  signal,
});

/** Prints problems, with source lines on terminals; true if one is an error. Lines of variable files are not printed,
 * because they may be secret. */
export function tell(diagnostics: readonly Diagnostic[], { file, name }: ReadDefinition, output: Output): boolean {
  const text = output.isTerminal ? new TextDecoder().decode(file.bytes) : undefined;
  for (const diagnostic of diagnostics) {
    output.write(`${formatDiagnostic(diagnostic, name)}\n`);
    const isOwn = diagnostic.position?.file === name;
    const excerpt = text !== undefined && isOwn ? excerptOf(diagnostic, text) : undefined;
    if (excerpt !== undefined) output.write(`${excerpt}\n`);
  }
  return hasErrors(diagnostics);
}

export async function readInputs(
  { input = [], inputFile }: Pick<WharfRunOptions, "input" | "inputFile">,
  { directory, err }: Environment,
): Promise<ReturnType<typeof givenInputs> | undefined> {
  const given = readParams(input, "--input");
  if (printProblems(given.problems, err)) return undefined;
  // `@` names a file only on the command line, not in a file of inputs.
  const own = givenInputs(given.values, directory);
  if (inputFile === undefined) return own;
  const filed = await readInputFile(inputFile, directory);
  if (typeof filed !== "string") return new Map([...filed, ...own]);
  err.write(`slipway: --input-file ${inputFile}: ${filed}\n`);
  return undefined;
}

/** Returns a message if the file is no map of scalars or too large. */
async function readInputFile(path: string, directory: string): Promise<ReadonlyMap<string, string> | string> {
  try {
    const bytes = await readStart(resolve(directory, path), maxBytes + 1);
    if (bytes.length > maxBytes) return "it is larger than 1 MiB";
    const read = readYaml(new TextDecoder().decode(bytes), { file: path });
    if (!read.ok) return read.error[0]?.message ?? "it cannot be read";
    const value = read.value.documents[0]?.value ?? {};
    if (!isJsonObject(value)) return "expected a map of inputs";
    const inputs = new Map<string, string>();
    for (const [name, each] of Object.entries(value)) {
      if (typeof each === "object" && each !== null)
        return `${name}: expected a text or a number, found a list or a map`;
      inputs.set(name, each === null ? "" : `${each}`);
    }
    return inputs;
  } catch (thrown) {
    return messageOf(thrown);
  }
}
