import { CommanderError } from "commander";
import { SlipwayError, toError } from "#lib/base/index.ts";
import { type CommandSpec, Exit, exitCode, exitCodeOf, type Surroundings, UsageError } from "#kernel/command/index.ts";
import { buildProgram, type Manner } from "./program.ts";

/**
 * Runs one command line (`["get", "wf"]`) and returns its exit code. Prints all errors and throws nothing. Signals and
 * the end of the process belong to `main.ts`.
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
    // Commander prints its own messages.
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? exitCode.succeeded : exitCode.usage;
    surroundings.environment(manner.color).err.write(failureText(thrown, manner.verbose));
    return (await isRefusal(thrown)) ? exitCode.usage : exitCodeOf(thrown);
  }
}

/** A document or request that the server rejects as invalid. */
const isRefusal = async (thrown: unknown): Promise<boolean> =>
  (await import("#kernel/model/index.ts")).isInvalid(thrown);

/** Rewrites `help store check` to `store check --help`; an unknown command is refused as such. */
function asHelpOption([first, ...words]: readonly string[], specs: readonly CommandSpec[]): readonly string[] {
  const [verb] = words;
  if (first !== "help" || verb === undefined) return first === undefined ? [] : [first, ...words];
  const isKnown = specs.some(({ name, aliases = [] }) => name.split(" ")[0] === verb || aliases.includes(verb));
  return isKnown ? [...words, "--help"] : [verb];
}

/**
 * Rewrites `-o=json` to `-o json`, as kubectl accepts both, and `--dry-run FILE` to `--dry-run=client FILE`: an
 * optional value must be one of its choices. Words after `--` stay as they are.
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

/** The option of this name whose value is optional; all commands that have one agree. */
function optionalIn(specs: readonly CommandSpec[], long: string) {
  for (const { options } of specs)
    for (const { flags, choices, preset } of options)
      if (choices !== undefined && preset !== undefined && flags.startsWith(`${long} `)) return { choices, preset };
  return undefined;
}

/**
 * The text of an error: message, hint, causes with `-v`, stack with `-vv`. Empty for an `Exit`, which has been
 * reported.
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

const hintOf = (error: Error): string | undefined =>
  "reason" in error && error.reason === "Unauthorized"
    ? "the server does not accept this credential: use the kubeconfig written by its slipway up, or create one with\nslipway credential create"
    : undefined;

/** The chain of causes, at most ten: it may be circular. */
function causesOf(error: Error): readonly Error[] {
  const causes: Error[] = [];
  for (let { cause } = error; cause !== undefined && causes.length < 10; { cause } = toError(cause))
    causes.push(toError(cause));
  return causes;
}
