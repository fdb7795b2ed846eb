import { command, exitCode, UsageError } from "#kernel/command/index.ts";
import type { GraphFormat } from "../output/graph-text.ts";

/**
 * A name that is a file is a document, anything else a run on the running control plane. All runs of a file are
 * drawn, one after the other; documents need no server, and are drawn only when they have no errors. Of a run that is under way
 * the phases of its steps are shown, in words and in colours.
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
    const { existsSync } = await import("node:fs");
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
 * Names of runs hold no slash and no such ending. What looks like a file is one even if it is not there: the error is
 * then about the file and not about a server that may not be running.
 */
const isFile = (name: string): boolean => name === "-" || name.includes("/") || /\.(?:ya?ml|json)$/.test(name);

/** What the action was called with, for the two ways to come to a graph. */
type Invoked = Parameters<typeof graphCommand.action>[0];

/** Undefined when the documents were refused; then the problems are on the screen. */
async function graphsOfFile(file: string, { environment }: Invoked) {
  const { objectsOf, readDocuments } = await import("../documents.ts");
  const { readStdin } = await import("#kernel/command/index.node.ts");
  const { printProblems } = await import("#kernel/command/index.ts");
  const { isRunOf } = await import("../runs.ts");
  const read = await readDocuments([file], { directory: environment.directory, stdin: readStdin });
  if (printProblems(read.problems, environment.err)) return undefined;
  const graphs = objectsOf(read).flatMap(({ document: { dialect }, object }) =>
    dialect !== undefined && isRunOf(dialect, object) ? [dialect.runs.graph(object)] : [],
  );
  if (graphs.length === 0) throw new UsageError(`${file} holds no run`);
  return graphs;
}

/** The graph as the run's object has it, which may be a later one than the file's. */
async function graphOfRun(name: string, invocation: Invoked) {
  const { withSession } = await import("#kernel/command/index.ts");
  const { findRun } = await import("../runs.ts");
  let graph: import("#kernel/dialect/index.ts").RunGraph | undefined;
  await withSession(invocation, async ({ client, namespace }) => {
    const run = await findRun({ client, namespace }, [name]);
    graph = run.dialect.runs.graph(await client.get({ type: run.type, namespace, name: run.name }));
    return exitCode.succeeded;
  });
  if (graph === undefined) throw new Error(`no graph of ${name}`);
  return graph;
}
