import { CommanderError } from "commander";
import { SlipwayError, toError } from "#lib/base/index.ts";
import { type CommandSpec, Exit, exitCode, exitCodeOf, type Surroundings, UsageError } from "#kernel/command/index.ts";
import { buildProgram, type Manner } from "./program.ts";

/**
 * Carries out one command line (`["get", "wf"]`) and answers with its exit code. Everything a person should read has been
 * written by then; nothing is thrown. Knows no process: signals and the end of the program are for `main.ts`.
 */
export async function execute(
  args: readonly string[],
  specs: readonly CommandSpec[],
  version: string,
  surroundings: Surroundings,
): Promise<number> {
  let ended: number = exitCode.succeeded;
  let manner: Manner = { verbose: 0, color: "auto" };
  const program = buildProgram(specs, version, surroundings, {
    onStart: (said) => {
      manner = said;
    },
    onEnd: (code) => {
      ended = code;
    },
  });
  try {
    await program.parseAsync(separateValues(asHelpOption(args, specs), specs), { from: "user" });
    return ended;
  } catch (thrown) {
    // Commander has printed its own messages before it threw them.
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? exitCode.succeeded : exitCode.usage;
    surroundings.environment(manner.color).err.write(failureText(thrown, manner.verbose));
    return (await isRefusal(thrown)) ? exitCode.usage : exitCodeOf(thrown);
  }
}

/** A server that calls a document or a request wrong says what we would have said, had we known. */
const isRefusal = async (thrown: unknown): Promise<boolean> =>
  (await import("#kernel/model/index.ts")).isInvalid(thrown);

/** `help store check` as `store check --help`; of an unknown command the word alone, so that it is refused as one. */
function asHelpOption([first, ...words]: readonly string[], specs: readonly CommandSpec[]): readonly string[] {
  const [verb] = words;
  if (first !== "help" || verb === undefined) return first === undefined ? [] : [first, ...words];
  const isKnown = specs.some(({ name, aliases = [] }) => name.split(" ")[0] === verb || aliases.includes(verb));
  return isKnown ? [...words, "--help"] : [verb];
}

/**
 * `-o=json` as `-o json`: kubectl takes both, and its users type both. `--dry-run FILE` as `--dry-run=client FILE`: a value that may be left out is one of
 * its choices, or it is left out. What stands behind `--` is left as it is.
 */
function separateValues(args: readonly string[], specs: readonly CommandSpec[]): string[] {
  const end = args.indexOf("--");
  return args.flatMap((word, at) => {
    if (end >= 0 && at > end) return [word];
    const option = word.startsWith("--") ? optionalIn(specs, word) : undefined;
    if (option !== undefined && !option.choices.includes(args[at + 1] ?? "")) return [`${word}=${option.preset}`];
    const [, flag, value] = /^(-[a-zA-Z])=(.*)$/s.exec(word) ?? [];
    return flag === undefined || value === undefined ? [word] : [flag, value];
  });
}

/** The option of this name whose value may be left out; commands that have one of a name agree on it. */
function optionalIn(specs: readonly CommandSpec[], long: string) {
  for (const { options } of specs)
    for (const { flags, choices, preset } of options)
      if (choices !== undefined && preset !== undefined && flags.startsWith(`${long} `)) return { choices, preset };
  return undefined;
}

/**
 * What people are told of what went wrong: message, then hint; the causes with `-v`, the stack with `-vv`. Nothing for an
 * `Exit`, after which everything has been said.
 */
export function failureText(thrown: unknown, verbose: number): string {
  if (thrown instanceof Exit) return "";
  const error = toError(thrown);
  const hint = error instanceof UsageError || error instanceof SlipwayError ? error.hint : hintOf(error);
  const lines = [
    `slipway: ${error.message}`,
    ...(hint === undefined ? [] : [hint]),
    ...(verbose > 0 ? causesOf(error).map((cause) => `  because: ${cause.message}`) : []),
    ...(verbose > 1 ? [error.stack ?? ""] : []),
  ];
  return `${lines.join("\n")}\n`;
}

/** What to do about a refusal of the server. */
const hintOf = (error: Error): string | undefined =>
  "reason" in error && error.reason === "Unauthorized"
    ? "the server does not accept this credential: use the kubeconfig that its slipway up writes, or a new one made with\nslipway credential create"
    : undefined;

/** What caused it, what caused that, and so on, ten at most: the chain of a broken library may be a circle. */
function causesOf(error: Error): readonly Error[] {
  const causes: Error[] = [];
  for (let { cause } = error; cause !== undefined && causes.length < 10; { cause } = toError(cause))
    causes.push(toError(cause));
  return causes;
}
