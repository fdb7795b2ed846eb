import type { JsonValue } from "#lib/base/index.ts";
import { command, exitCode, printProblems } from "#kernel/command/index.ts";

/**
 * Prints documents of the original controller in the current form, and all others unchanged. Prints nothing if a
 * document is invalid.
 */
export const convertCommand = command<{ readonly output: "yaml" | "json" }>({
  name: "convert",
  args: ["<files...>"],
  summary: "Convert workflow.k8s.io documents to slipway.dev and print them",
  group: "Documents",
  examples: ["slipway convert old.yaml", "slipway convert old.yaml -o json"],
  options: [{ flags: "-o, --output <format>", summary: "format", choices: ["yaml", "json"], initial: "yaml" }],
  completes: ["file"],
  async action({ rest, options, environment }) {
    const { objectsOf, readDocuments } = await import("#app/runs/index.ts");
    const { writeYamlDocuments } = await import("#lib/yaml/index.ts");
    const { directory, out, err } = environment;
    const read = await readDocuments(rest, { directory });
    if (printProblems(read.problems, err)) return exitCode.usage;
    const objects = objectsOf(read).map(({ object }): JsonValue => JSON.parse(JSON.stringify(object)) as JsonValue);
    const list = { apiVersion: "v1", kind: "List", items: objects };
    out.write(
      options.output === "json" ? `${JSON.stringify(list, null, 2)}\n` : writeYamlDocuments(objects, { keys: "given" }),
    );
    return exitCode.succeeded;
  },
});
