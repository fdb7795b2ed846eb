import { hasErrors } from "#lib/base/index.ts";
import { exitCode, type Invocation, UsageError } from "#kernel/command/index.ts";
import { onePath, type WharfRunOptions } from "./run-options.ts";

export interface DefinitionFlags
  extends Pick<
    WharfRunOptions,
    "stage" | "environment" | "input" | "inputFile" | "buildId" | "projectId" | "file" | "strictVars"
  > {
  readonly output?: "json";
  readonly all?: boolean;
}

type WharfInvocation = Invocation<DefinitionFlags>;

/** The definition that the arguments name; undefined after printing why there is none. */
async function read({ options, environment, signal }: WharfInvocation, words: readonly string[]) {
  const { loadWharf } = await import("../dialect.ts");
  const { readInputs, tell, worldOf } = await import("./reading.ts");
  const wharf = await loadWharf();
  const inputs = await readInputs(options, environment, wharf);
  if (inputs === undefined) return undefined;
  const { environment: selected, stage: stages = [], buildId, projectId, strictVars: isStrict = false } = options;
  const found = await wharf.readDefinition(
    { directory: environment.directory, path: onePath(words), file: options.file },
    {
      inputs,
      environment: selected,
      stages,
      buildId,
      projectId,
      isStrict,
    },
    worldOf(environment, signal),
  );
  if (found.ok) return { wharf, definition: found.value, tell };
  const { message, hint } = found.error;
  environment.err.write(`slipway: ${message}\n${hint === undefined ? "" : `${hint}\n`}`);
  return undefined;
}

export async function lintDefinition(invocation: WharfInvocation): Promise<number> {
  const { options, environment } = invocation;
  const found = await read(invocation, invocation.rest);
  if (found === undefined) return exitCode.failed;
  const { wharf, definition, tell } = found;
  const { diagnostics } = definition;
  if (options.output === "json") environment.out.write(`${JSON.stringify(diagnostics, null, 2)}\n`);
  else tell(diagnostics, definition, wharf, environment.out);
  return hasErrors(diagnostics) ? exitCode.failed : exitCode.succeeded;
}

export async function printDefinition(invocation: WharfInvocation, what: "list" | "yml"): Promise<number> {
  const { options, environment } = invocation;
  const found = await read(invocation, invocation.rest);
  if (found === undefined) return exitCode.failed;
  const { wharf, definition, tell } = found;
  const { prepared, diagnostics } = definition;
  const isWrong = tell(diagnostics, definition, wharf, environment.err);
  const json = (data: unknown) => `${JSON.stringify(data, null, 2)}\n`;
  const isJson = options.output === "json";
  if (what === "list") {
    const isAll = options.all === true;
    environment.out.write(isJson ? json(wharf.listData(prepared)) : wharf.listText(prepared, { all: isAll }));
  } else {
    const substituted = wharf.substitutedDefinition(prepared);
    if (substituted !== undefined) environment.out.write(isJson ? json(substituted.data) : substituted.text);
  }
  return isWrong ? exitCode.failed : exitCode.succeeded;
}

/** Nothing is added to the text and its line ends are kept. */
export async function substituteFile(invocation: WharfInvocation): Promise<number> {
  const { environment, rest: words } = invocation;
  if (words.length > 1) throw new UsageError(`expected one file, found ${words.length}`);
  const { readSources } = await import("#kernel/command/index.node.ts");
  const { printProblems } = await import("#kernel/command/index.ts");
  const [source] = await readSources([words[0] ?? "-"], { directory: environment.directory });
  if (source === undefined || "problem" in source) {
    printProblems(source === undefined ? [] : [source.problem], environment.err);
    return exitCode.failed;
  }
  const found = await read(invocation, []);
  if (found === undefined) return exitCode.failed;
  const { wharf, definition, tell } = found;
  const isWrong = tell(definition.diagnostics, definition, wharf, environment.err);
  const { text, error } = wharf.substituteText(definition.prepared, source.text);
  if (error !== undefined) environment.err.write(`slipway: ${source.file}: ${error}\n`);
  environment.out.write(text);
  return isWrong || error !== undefined ? exitCode.failed : exitCode.succeeded;
}
