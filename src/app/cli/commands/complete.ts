import {
  command,
  type CommandSpec,
  type Completion,
  type Environment,
  exitCode,
  type Invocation,
} from "#kernel/command/index.ts";

/**
 * Called by the scripts of `slipway completion`: prints the words that may follow. `specs` is a function because the
 * list contains this command too.
 */
export const completeCommand = (specs: () => readonly CommandSpec[]) =>
  command<object>({
    name: "complete",
    args: ["[words...]"],
    summary: "Print the possible next words",
    group: "Other",
    examples: [],
    options: [],
    hidden: true,
    async action(invocation) {
      const { RootCommand } = await import("@bomb.sh/tab");
      const root = new RootCommand();
      const words = [...invocation.rest];
      for (const spec of specs().filter(({ hidden }) => hidden !== true)) {
        const entry = root.command(spec.name, spec.summary);
        for (const { flags, summary, choices } of spec.options) {
          const long = /--([\w-]+)/.exec(flags)?.[1] ?? "";
          const short = /^-(\w)\b/.exec(flags)?.[1];
          if (!/[<[]/.test(flags)) entry.option(long, summary, short);
          else entry.option(long, summary, (complete) => choices?.forEach((choice) => complete(choice, "")), short);
        }
        const isMeant = `${words.join(" ")} `.startsWith(`${spec.name} `);
        for (const [index, name] of spec.args.entries()) {
          const found = isMeant ? await candidates(spec.completes?.[index], invocation, words) : [];
          entry.argument(name, (complete) => found.forEach((word) => complete(word, "")), name.includes("..."));
        }
      }
      root.parse(words);
      return exitCode.succeeded;
    },
  });

async function candidates(
  kind: Completion | undefined,
  invocation: Invocation<object>,
  words: readonly string[],
): Promise<readonly string[]> {
  if (kind === undefined) return [];
  if (typeof kind !== "string") return kind;
  if (kind === "file") return await files(words.at(-1) ?? "", invocation.environment);
  const { namesFor } = await import("../names.ts");
  if (kind !== "file-or-run" && kind !== "file-or-startable") return await namesFor(kind, invocation, words);
  const named = kind === "file-or-run" ? "run" : "startable";
  return [...(await files(words.at(-1) ?? "", invocation.environment)), ...(await namesFor(named, invocation, words))];
}

/** Paths that begin with `typed`, without hidden files; folders end in a slash so that completion continues inside. */
async function files(typed: string, { directory }: Environment): Promise<readonly string[]> {
  const { readdir } = await import("node:fs/promises");
  const folder = typed.slice(0, typed.lastIndexOf("/") + 1);
  const entries = await readdir(folder.startsWith("/") ? folder : `${directory}/${folder}`, {
    withFileTypes: true,
  }).catch(() => []);
  return entries
    .filter((entry) => !entry.name.startsWith("."))
    .map((entry) => `${folder}${entry.name}${entry.isDirectory() ? "/" : ""}`);
}
