import { actionWord, command, exitCode } from "#kernel/command/index.ts";

export const crdsCommand = command<{ readonly output: "yaml" | "json" }>({
  name: "crds",
  args: ["[languages...]"],
  summary: "Print the CRDs of Slipway's kinds for a Kubernetes cluster",
  group: "Control plane",
  examples: ["slipway crds | kubectl apply --server-side -f -", "slipway crds workflow -o json"],
  options: [{ flags: "-o, --output <format>", summary: "format", choices: ["yaml", "json"], initial: "yaml" }],
  async action({ rest, options, environment }) {
    const { dialects } = await import("#dialects/index.ts");
    const names = dialects.map(({ name }) => name);
    const { clusterDefinitions } = await import("#app/server/index.ts");
    const definitions = await clusterDefinitions(rest.map((word) => actionWord(names, word)));
    const list = { apiVersion: "v1", kind: "List", items: definitions };
    if (options.output === "json") environment.out.write(`${JSON.stringify(list, null, 2)}\n`);
    else {
      const { writeYamlDocuments } = await import("#lib/yaml/index.ts");
      environment.out.write(writeYamlDocuments(definitions, { keys: "given" }));
    }
    return exitCode.succeeded;
  },
});
