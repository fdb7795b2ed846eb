import type { Diagnostic, ReadDefinition } from "#dialects/wharf/index.ts";
import { hasErrors } from "#lib/base/index.ts";
import { command, type Invocation } from "../command.ts";
import type { Environment, Output } from "../environment.ts";
import { exitCode, UsageError } from "../exit-codes.ts";

/** Absent flags were not given. */
interface WharfOptions {
  readonly environment?: string;
  readonly input?: readonly string[];
  readonly buildId?: number;
  readonly projectId?: number;
  readonly file?: string;
  readonly strictVars?: boolean;
  readonly all?: boolean;
  readonly output?: "json";
}

// What a definition means depends on where it is: on files above it, on Git, on the environment. All of that is found and read by the dialect;
// here it is only said where to look, and what comes of it is printed.

const verbs = ["lint", "vars"] as const;
const varsVerbs = ["list", "sub", "yml"] as const;

/**
 * What a `.wharf-ci.yml` means, without running it. Data go to stdout, problems to stderr, those of `lint` to stdout. Needs no server. Ends with 1
 * for a definition that is not there or wrong, as the original does.
 */
export const wharfCommand = command<WharfOptions>({
  name: "wharf",
  args: ["<action>", "[words...]"],
  summary: "Wharf: check a .wharf-ci.yml (lint), or show its variables (vars list, sub, yml)",
  group: "Documents",
  examples: [
    "slipway wharf lint examples/wharf --environment stage",
    "slipway wharf vars list examples/wharf -a",
    "slipway wharf vars yml examples/wharf --input version=2.0",
    "echo '${GIT_BRANCH}' | slipway wharf vars sub --file examples/wharf/.wharf-ci.yml",
  ],
  options: [
    { flags: "-e, --environment <name>", summary: "select an environment of the definition" },
    { flags: "-i, --input <name=value>", summary: "set an input; may be repeated", repeatable: true },
    { flags: "--build-id <number>", summary: "the variable BUILD_REF", integer: true },
    { flags: "--project-id <number>", summary: "the variable PROJECT_ID", integer: true },
    { flags: "--file <file>", summary: "a definition of another name than .wharf-ci.yml" },
    { flags: "--strict-vars", summary: "variables that nobody has set are errors" },
    { flags: "-a, --all", summary: "vars list: also variables that are overridden" },
    { flags: "-o, --output <format>", summary: "json", choices: ["json"] },
  ],
  completes: [verbs, "file"],
  async action(invocation) {
    const { actionWord } = await import("../action-words.ts");
    const [first, ...rest] = invocation.rest;
    if (actionWord(verbs, invocation.args[0] ?? "") === "lint") return await lint(invocation, invocation.rest);
    if (first === undefined) throw new UsageError(`expected one of ${varsVerbs.join(", ")} after vars`);
    const verb = actionWord(varsVerbs, first);
    return verb === "sub" ? await substitute(invocation, rest) : await print(invocation, rest, verb);
  },
});

type WharfInvocation = Invocation<WharfOptions>;

/**
 * The definition of the words, or undefined once it was said that there is none. The dialect is loaded here, when the words make sense: commands
 * of other languages and `--help` do without it.
 */
async function read({ options, environment, signal }: WharfInvocation, words: readonly string[]) {
  if (words.length > 1) throw new UsageError(`expected one path, found ${words.length}`);
  const { loadWharf } = await import("#dialects/wharf/index.ts");
  const { readParams } = await import("../documents.ts");
  const { printProblems } = await import("../output/problems.ts");
  const inputs = readParams(options.input ?? [], "--input");
  if (printProblems(inputs.problems, environment.err)) return undefined;
  const wharf = await loadWharf();
  const { environment: selected, buildId, projectId, strictVars: isStrict = false } = options;
  const found = await wharf.readDefinition(
    { directory: environment.directory, path: words[0], file: options.file },
    { inputs: new Map(Object.entries(inputs.values)), environment: selected, buildId, projectId, isStrict },
    worldOf(environment, signal),
  );
  if (found.ok) return { wharf, definition: found.value };
  const { message, hint } = found.error;
  environment.err.write(`slipway: ${message}\n${hint === undefined ? "" : `${hint}\n`}`);
  return undefined;
}

/** What decides which variables there are, as far as this process knows it. */
const worldOf = ({ all, home, variable }: Environment, signal: AbortSignal) => ({
  environment: all,
  home,
  variable,
  platform: process.platform,
  signal,
});

/** The parts of the dialect that this command is made of. */
type Wharf = Awaited<ReturnType<typeof import("#dialects/wharf/index.ts")["loadWharf"]>>;

/**
 * Problems with the lines they are in, where somebody looks; true when one of them is an error. Lines are only those of the definition itself:
 * files with variables may hold what is not for every terminal.
 */
function tell(
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

/**
 * Problems are the data here: all of them, warnings too, which change nothing about how the command ends. As JSON the list is printed even when it
 * is empty, so that whoever reads it need not look at the code.
 */
async function lint(invocation: WharfInvocation, words: readonly string[]): Promise<number> {
  const { options, environment } = invocation;
  const found = await read(invocation, words);
  if (found === undefined) return exitCode.failed;
  const { wharf, definition } = found;
  const { diagnostics } = definition;
  if (options.output === "json") environment.out.write(`${JSON.stringify(diagnostics, null, 2)}\n`);
  else tell(diagnostics, definition, wharf, environment.out);
  return hasErrors(diagnostics) ? exitCode.failed : exitCode.succeeded;
}

/**
 * Variables, or the definition with them. What is wrong is told beside what could be read all the same, because a list of variables is what people
 * look at to find out what is wrong.
 */
async function print(invocation: WharfInvocation, words: readonly string[], what: "list" | "yml"): Promise<number> {
  const { options, environment } = invocation;
  const found = await read(invocation, words);
  if (found === undefined) return exitCode.failed;
  const { wharf, definition } = found;
  const { prepared, diagnostics } = definition;
  const isWrong = tell(diagnostics, definition, wharf, environment.err);
  const json = (data: unknown) => `${JSON.stringify(data, null, 2)}\n`;
  const isJson = options.output === "json";
  if (what === "list") {
    const { listed } = prepared;
    environment.out.write(
      isJson ? json(wharf.listData(listed)) : wharf.listText(listed, { all: options.all === true }),
    );
  } else {
    const substituted = wharf.substitutedDefinition(prepared);
    if (substituted !== undefined) environment.out.write(isJson ? json(substituted.data) : substituted.text);
  }
  return isWrong ? exitCode.failed : exitCode.succeeded;
}

/**
 * The text of a file, or of standard input, with the variables of the definition of the working directory, or of `--file`. Nothing is added to
 * the text and its line ends are kept: it may be a manifest that somebody pipes on.
 */
async function substitute(invocation: WharfInvocation, words: readonly string[]): Promise<number> {
  const { environment } = invocation;
  if (words.length > 1) throw new UsageError(`expected one file, found ${words.length}`);
  const { readSources } = await import("../source-texts.ts");
  const { readStdin } = await import("../stdin.ts");
  const { printProblems } = await import("../output/problems.ts");
  const [source] = await readSources([words[0] ?? "-"], { directory: environment.directory, stdin: readStdin });
  if (source === undefined || "problem" in source) {
    printProblems(source === undefined ? [] : [source.problem], environment.err);
    return exitCode.failed;
  }
  const found = await read(invocation, []);
  if (found === undefined) return exitCode.failed;
  const { wharf, definition } = found;
  const isWrong = tell(definition.diagnostics, definition, wharf, environment.err);
  const { text, error } = wharf.substituteText(definition.prepared, source.text);
  if (error !== undefined) environment.err.write(`slipway: ${source.file}: ${error}\n`);
  environment.out.write(text);
  return isWrong || error !== undefined ? exitCode.failed : exitCode.succeeded;
}
