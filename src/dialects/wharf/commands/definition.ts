import { hasErrors } from "#lib/base/index.ts";
import { exitCode, type Invocation, printProblems, UsageError } from "#kernel/command/index.ts";
import { onePath, type WharfRunOptions } from "./run-options.ts";
import { readDefinition } from "../world/read-definition.ts";
import { listData, listText, substitutedDefinition, substituteText } from "../vars.ts";
import { readInputs, tell, worldOf } from "./reading.ts";
import { readSources } from "#kernel/command/index.node.ts";

export interface DefinitionFlags
  extends Pick<
    WharfRunOptions,
    "stage" | "environment" | "input" | "inputFile" | "buildId" | "projectId" | "file" | "strictVars"
  > {
  readonly output?: "json";
  readonly all?: boolean;
}

type WharfInvocation = Invocation<DefinitionFlags>;

async function read({ options, environment, signal }: WharfInvocation, words: readonly string[]) {
  const inputs = await readInputs(options, environment);
  if (inputs === undefined) return undefined;
  const { environment: selected, stage: stages = [], buildId, projectId, strictVars: isStrict = false } = options;
  const found = await readDefinition(
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
  if (found.ok) return found.value;
  const { message, hint } = found.error;
  environment.err.write(`slipway: ${message}\n${hint === undefined ? "" : `${hint}\n`}`);
  return undefined;
}

export async function lintDefinition(invocation: WharfInvocation): Promise<number> {
  const { options, environment } = invocation;
  const definition = await read(invocation, invocation.rest);
  if (definition === undefined) return exitCode.failed;
  const { diagnostics } = definition;
  if (options.output === "json") environment.out.write(`${JSON.stringify(diagnostics, null, 2)}\n`);
  else tell(diagnostics, definition, environment.out);
  return hasErrors(diagnostics) ? exitCode.failed : exitCode.succeeded;
}

export async function printDefinition(invocation: WharfInvocation, what: "list" | "yml"): Promise<number> {
  const { options, environment } = invocation;
  const definition = await read(invocation, invocation.rest);
  if (definition === undefined) return exitCode.failed;
  const { prepared, diagnostics } = definition;
  const isWrong = tell(diagnostics, definition, environment.err);
  const json = (data: unknown) => `${JSON.stringify(data, null, 2)}\n`;
  const isJson = options.output === "json";
  if (what === "list") {
    const isAll = options.all === true;
    environment.out.write(isJson ? json(listData(prepared)) : listText(prepared, { all: isAll }));
  } else {
    const substituted = substitutedDefinition(prepared);
    if (substituted !== undefined) environment.out.write(isJson ? json(substituted.data) : substituted.text);
  }
  return isWrong ? exitCode.failed : exitCode.succeeded;
}

/** Nothing is added to the text and its line ends are kept. */
export async function substituteFile(invocation: WharfInvocation): Promise<number> {
  const { environment, rest: words } = invocation;
  if (words.length > 1) throw new UsageError(`expected one file, found ${words.length}`);
  const [source] = await readSources([words[0] ?? "-"], { directory: environment.directory });
  if (source === undefined || "problem" in source) {
    printProblems(source === undefined ? [] : [source.problem], environment.err);
    return exitCode.failed;
  }
  const definition = await read(invocation, []);
  if (definition === undefined) return exitCode.failed;
  const isWrong = tell(definition.diagnostics, definition, environment.err);
  const { text, error } = substituteText(definition.prepared, source.text);
  if (error !== undefined) environment.err.write(`slipway: ${source.file}: ${error}\n`);
  environment.out.write(text);
  return isWrong || error !== undefined ? exitCode.failed : exitCode.succeeded;
}
