import type { Diagnostic, ReadDefinition } from "../dialect.ts";
import { hasErrors, isJsonObject, messageOf } from "#lib/base/index.ts";
import type { Environment, Output } from "#kernel/command/index.ts";
import type { WharfRunOptions } from "./run-options.ts";

export const worldOf = ({ all, home, variable }: Environment, signal: AbortSignal) => ({
  environment: all,
  home,
  variable,
  platform: process.platform,
  signal,
});

type Wharf = Awaited<ReturnType<typeof import("../dialect.ts")["loadWharf"]>>;

/**
 * Prints problems, with source lines on terminals; true if one is an error. Lines of variable files are not printed,
 * because they may be secret.
 */
export function tell(
  diagnostics: readonly Diagnostic[],
  { file, name }: ReadDefinition,
  wharf: Wharf,
  output: Output,
): boolean {
  const text = output.isTerminal ? new TextDecoder().decode(file.bytes) : undefined;
  for (const diagnostic of diagnostics) {
    output.write(`${wharf.formatDiagnostic(diagnostic, name)}\n`);
    const isOwn = diagnostic.position?.file === name;
    const excerpt = text !== undefined && isOwn ? wharf.excerptOf(diagnostic, text) : undefined;
    if (excerpt !== undefined) output.write(`${excerpt}\n`);
  }
  return hasErrors(diagnostics);
}

/** Values of inputs; the command line overrides the file. Undefined after printing what is wrong. */
export async function readInputs(
  { input = [], inputFile }: Pick<WharfRunOptions, "input" | "inputFile">,
  { directory, err }: Environment,
  wharf: Wharf,
): Promise<ReturnType<Wharf["givenInputs"]> | undefined> {
  const { readParams } = await import("#kernel/command/index.ts");
  const { printProblems } = await import("#kernel/command/index.ts");
  const given = readParams(input, "--input");
  if (printProblems(given.problems, err)) return undefined;
  // `@` names a file only on the command line, not in a file of inputs.
  const own = wharf.givenInputs(given.values, directory);
  if (inputFile === undefined) return own;
  const filed = await readInputFile(inputFile, directory, wharf);
  if (typeof filed !== "string") return new Map([...filed, ...own]);
  err.write(`slipway: --input-file ${inputFile}: ${filed}\n`);
  return undefined;
}

/** Returns a message if the file is no map of scalars or too large. */
async function readInputFile(
  path: string,
  directory: string,
  { readStart, maxBytes }: Wharf,
): Promise<ReadonlyMap<string, string> | string> {
  const { readYaml } = await import("#lib/yaml/index.ts");
  const paths = await import("node:path");
  try {
    const bytes = await readStart(paths.resolve(directory, path), maxBytes + 1);
    if (bytes.length > maxBytes) return "it is larger than 1 MiB";
    const read = readYaml(new TextDecoder().decode(bytes), { file: path });
    if (!read.ok) return read.error[0]?.message ?? "it cannot be read";
    const value = read.value.documents[0]?.value ?? {};
    if (!isJsonObject(value)) return "expected a map of inputs";
    // The definition checks whether they fit.
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
