import { command, exitCode, printProblems, readParams, UsageError, withSession } from "#kernel/command/index.ts";
import type { DocumentDiff } from "../diff.ts";

interface DiffOptions {
  readonly param?: string[];
  readonly output?: "json";
}

/** Exits as `diff` does: with 0 when nothing would change, else with 1. */
export const diffCommand = command<DiffOptions>({
  name: "diff",
  args: ["<file>", "[run]"],
  summary: "Compare a document with the stored object",
  group: "Documents",
  examples: ["slipway diff diamond.json", "slipway diff diamond.json diamond -o json"],
  options: [
    { flags: "-p, --param <name=value>", summary: "argument of the run; may be repeated", repeatable: true },
    { flags: "-o, --output <format>", summary: "json", choices: ["json"] },
  ],
  completes: ["file", "run"],
  async action(invocation) {
    const { objectsOf, readDocuments } = await import("#app/runs/index.ts");
    const { diffDocument } = await import("../diff.ts");
    const { withReferred } = await import("../referred-documents.ts");
    const { args, options, environment } = invocation;
    const { directory, out, err } = environment;
    const [file = "", run] = args;
    const params = readParams(options.param ?? []);
    const read = await readDocuments([file], { directory, arguments: params.values });
    if (printProblems([...params.problems, ...read.problems], err)) return exitCode.usage;
    const objects = objectsOf(read);
    if (run !== undefined && objects.length !== 1)
      throw new UsageError(`only one document can be compared with a run; ${file} contains ${objects.length}`);
    return await withSession(invocation, async ({ client, namespace }) => {
      const whole = await withReferred(read, params.values, { client, namespace });
      if (printProblems(whole.problems, err)) return exitCode.usage;
      const diffs: DocumentDiff[] = [];
      for (const { object } of objectsOf(whole)) diffs.push(await diffDocument(client, object, namespace, run));
      out.write(options.output === "json" ? `${JSON.stringify(diffs, null, 2)}\n` : diffs.map(diffText).join(""));
      return diffs.every(({ change }) => change === "none") ? exitCode.succeeded : exitCode.failed;
    });
  },
});

/** One line for each difference, the old value first; nothing for objects that would not change. */
function diffText({ kind, name, change, differences, refusals }: DocumentDiff): string {
  if (change === "none") return "";
  const lines = [
    ...refusals.map((text) => `  refused: ${text}`),
    ...differences.flatMap(({ path, from, to }) => [
      ...(from === undefined ? [] : [`  - ${path}: ${JSON.stringify(from)}`]),
      ...(to === undefined ? [] : [`  + ${path}: ${JSON.stringify(to)}`]),
    ]),
  ];
  const word = { create: "would be created", update: "would change", refused: "cannot be changed" }[change];
  return [`${kind.toLowerCase()}/${name} ${word}`, ...lines].join("\n") + "\n";
}
