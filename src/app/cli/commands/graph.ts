import { existsSync } from "node:fs";
import { command, exitCode, printProblems, UsageError, withSession } from "#kernel/command/index.ts";
import type { GraphFormat } from "../output/graph-text.ts";

/**
 * Draws all runs of a file, or one run of the running control plane with the phases of its steps. Documents are drawn
 * only if they are valid.
 */
export const graphCommand = command<{ readonly output: GraphFormat }>({
  name: "graph",
  args: ["<file-or-run>"],
  summary: "Show the steps of a document or a run and their dependencies",
  group: "Documents",
  examples: [
    "slipway graph examples/workflow/fan-out.yaml",
    "slipway graph examples/workflow/diamond.yaml -o mermaid",
    "slipway graph diamond -o dot",
  ],
  options: [
    { flags: "-o, --output <format>", summary: "format", choices: ["text", "mermaid", "dot", "json"], initial: "text" },
  ],
  completes: ["file-or-run"],
  async action(invocation) {
    const { args, options, environment } = invocation;
    const { formatGraph } = await import("../output/graph-text.ts");
    const { paintFor } = await import("#kernel/command/index.node.ts");
    const named = args[0] ?? "";
    const graphs =
      isFile(named) || existsSync(named)
        ? await graphsOfFile(named, invocation)
        : [await graphOfRun(named, invocation)];
    if (graphs === undefined) return exitCode.usage;
    const paint = paintFor(environment.out.color);
    for (const graph of graphs) environment.out.write(formatGraph(graph, options.output, paint));
    return exitCode.succeeded;
  },
});

/**
 * Names of runs have no such ending and no slash but the one after a kind, so what looks like a file is one even if it
 * does not exist: the error is then about the file and not about a missing server.
 */
const isFile = (name: string): boolean =>
  name === "-" || /\.(?:ya?ml|json)$/.test(name) || (name.includes("/") && !/^[a-z][a-z\d.-]*\/[^/]+$/.test(name));

type Invoked = Parameters<typeof graphCommand.action>[0];

/** Undefined if the documents are invalid; their problems have then been printed. */
async function graphsOfFile(file: string, { environment }: Invoked) {
  const { readDocuments, runsIn } = await import("#app/runs/index.ts");
  const read = await readDocuments([file], { directory: environment.directory });
  if (printProblems(read.problems, environment.err)) return undefined;
  const graphs = runsIn(read).map(({ dialect, object }) => dialect.runs.graph(object));
  if (graphs.length === 0) throw new UsageError(`${file} contains no run`);
  return graphs;
}

/** The graph of the stored run, which may differ from the file. */
async function graphOfRun(name: string, invocation: Invoked) {
  const { readRun } = await import("../runs.ts");
  return await withSession(invocation, async (session) => {
    const { dialect, object } = await readRun(session, [name]);
    return dialect.runs.graph(object);
  });
}
