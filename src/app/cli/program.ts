import { Command, InvalidArgumentError, Option } from "commander";
import { systemClock } from "#lib/base/index.ts";
import type { CommandSpec, GlobalOptions, OptionSpec } from "./command.ts";
import { type ColorChoice, readEnvironment } from "./environment.ts";
import { exitCode } from "./exit-codes.ts";

const description = "Workflows from bare metal to delivered application, as Kubernetes-style resources.";

/** The whole command line as a commander program. `finish` receives the exit code of the action that ran. */
export function buildProgram(
  specs: readonly CommandSpec[],
  version: string,
  signal: AbortSignal,
  finish: (code: number) => void,
): Command {
  const program = new Command("slipway")
    .description(description)
    .version(version, "-V, --version", "print the version")
    .option("-v, --verbose", "say more; twice for even more", (_, level: number) => level + 1, 0)
    .option("--kubeconfig <file>", "the control plane to talk to (default: the running one)")
    .option("--context <name>", "the kubeconfig's context to use")
    .option("-n, --namespace <name>", "the namespace (default: the context's, else default)")
    .addOption(new Option("--color <when>", "colours").choices(["auto", "always", "never"]).default("auto"))
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .configureHelp({ helpWidth: 80, showGlobalOptions: false })
    .exitOverride();
  for (const spec of specs) program.addCommand(toCommand(spec, signal, finish), { hidden: spec.hidden === true });
  return program;
}

function toCommand(spec: CommandSpec, signal: AbortSignal, finish: (code: number) => void): Command {
  const built = new Command(spec.name)
    .description(spec.summary)
    .aliases([...(spec.aliases ?? [])])
    .helpGroup(`${spec.group}:`)
    .addHelpText("before", `Examples:\n${spec.examples.map((example) => `  ${example}\n`).join("")}`)
    .configureHelp({ helpWidth: 80 })
    .exitOverride();
  for (const argument of spec.args) built.argument(argument);
  for (const option of spec.options) built.addOption(toOption(option));
  for (const option of inherited.filter(({ flags }) => !spec.options.some((own) => own.flags.includes(longOf(flags)))))
    built.addOption(toOption(option).hideHelp());
  built.action(async () => {
    const values = built.processedArgs as (string | string[] | undefined)[];
    const options = { ...built.parent?.opts<object>(), ...defined(built.opts<object>()) } as GlobalOptions & {
      color: ColorChoice;
    };
    finish(
      await spec.action({
        args: values.map((value) => (Array.isArray(value) ? undefined : value)),
        rest: values.flatMap((value) => (Array.isArray(value) ? value : [])),
        options: options as never,
        environment: readEnvironment(options.color),
        clock: systemClock,
        signal,
      }),
    );
  });
  return built;
}

// People write `slipway get wf -n demo` as readily as `slipway -n demo get wf`.
const inherited: readonly OptionSpec[] = [
  { flags: "-n, --namespace <name>", summary: "the namespace" },
  { flags: "--kubeconfig <file>", summary: "the control plane to talk to" },
  { flags: "--context <name>", summary: "the kubeconfig's context to use" },
  { flags: "-v, --verbose", summary: "say more", counted: true },
  { flags: "--color <when>", summary: "colours", choices: ["auto", "always", "never"] },
];

const longOf = (flags: string): string => /--[\w-]+/.exec(flags)?.[0] ?? flags;

const defined = (options: object): object =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));

function toOption({ flags, summary, choices, initial, repeatable, integer, counted }: OptionSpec): Option {
  const option = new Option(flags, summary);
  if (choices !== undefined) option.choices(choices);
  if (initial !== undefined) option.default(initial);
  if (repeatable === true)
    option.argParser((value: string, earlier: string[] | undefined) => [...(earlier ?? []), value]);
  if (counted === true) option.argParser((_: string, level: number | undefined) => (level ?? 0) + 1);
  if (integer === true) option.argParser(wholeNumber);
  return option;
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("expected a whole number.");
  return Number(text);
}

/** The exit code for what commander threw; it has printed its message already. */
export const usageExit = (code: number): number => (code === 0 ? exitCode.succeeded : exitCode.usage);
