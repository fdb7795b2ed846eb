import { command, exitCode, type Invocation, UsageError } from "#kernel/command/index.ts";
import type { DefOptions } from "./def-options.ts";

const verbs = ["apply", "get", "list", "vet", "upgrade", "schema"] as const;
type DefVerb = (typeof verbs)[number];

/** `vet` exits with 2 if a file has errors; `get` and `schema` with 1 if there is no such definition. */
export const defCommand = command<DefOptions>({
  name: "def",
  args: ["<action>", "[words...]"],
  summary: "Definitions of components, traits, policies and steps: apply, get, list, vet, upgrade, schema",
  group: "Documents",
  examples: [
    "slipway def apply my-trait.cue",
    "slipway def list --type trait",
    "slipway def get webservice -o cue",
    "slipway def vet definitions/",
    "slipway def upgrade old.cue --write",
    "slipway def schema webservice",
  ],
  options: [
    { flags: "-o, --output <format>", summary: "get: cue, yaml or json", choices: ["cue", "yaml", "json"] },
    {
      flags: "--type <type>",
      summary: "only definitions of this type",
      choices: ["component", "trait", "policy", "workflow-step"],
    },
    { flags: "--write", summary: "upgrade: write the files instead of printing them" },
    { flags: "--print", summary: "apply: print the objects and store nothing" },
  ],
  completes: [verbs, "file"],
  async action(invocation) {
    const { args, rest } = invocation;
    const { actionWord } = await import("#kernel/command/index.ts");
    const verb = actionWord(verbs, args[0] ?? "");
    if (verb === "list" && rest.length > 0) throw new UsageError(`list takes no words, found ${rest.join(" ")}`);
    if (verb !== "list" && rest.length === 0) throw new UsageError(`name what to ${verb}: ${whatOf[verb]}`);
    return await run(verb, invocation);
  },
});

const whatOf: Readonly<Record<Exclude<DefVerb, "list">, string>> = {
  apply: "a file or folder",
  get: "a definition",
  vet: "a file or folder",
  upgrade: "a file or folder",
  schema: "a definition or a file",
};

async function run(verb: DefVerb, invocation: Invocation<DefOptions>): Promise<number> {
  const files = await import("./def-files.ts");
  switch (verb) {
    case "apply":
      return await files.applyDefinitions(invocation);
    case "vet":
      return await files.vetDefinitions(invocation);
    case "upgrade":
      return await files.upgradeDefinitions(invocation);
    case "list":
      return await (await import("./def-stored.ts")).listDefinitions(invocation);
    case "get":
    case "schema": {
      const stored = await import("./def-stored.ts");
      const isDone = await (verb === "get" ? stored.getDefinitions(invocation) : stored.printSchemas(invocation));
      return isDone ? exitCode.succeeded : exitCode.failed;
    }
  }
}
