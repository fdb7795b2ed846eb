// Writes docs/reference/cli.md from the commands, docs/reference/workflow.md, tinkerbell.md, wharf.md and kubernetes.md from the kinds, and
// docs/reference/vela-definitions.md from the shipped definitions.
//   node scripts/reference.mjs [--check]      with --check nothing is written; ends with 1 when a page is not what would be written
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { cliPage } from "./reference/cli.mjs";
import { kubernetesPage, tinkerbellPage, wharfPage, workflowPage } from "./reference/kinds.mjs";
import { velaDefinitionsPage } from "./reference/vela.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

/** What the pages are made from. Nothing a command imports when it runs is looked at. */
async function loadSources() {
  const names = {
    "./src/app/cli/commands/index.ts": "commands",
    "./src/app/cli/program.ts": "buildProgram",
    "./src/kernel/command/exit-codes.ts": "exitCode",
    "./src/kernel/dialect/run-action.ts": "RunAction",
    "./src/dialects/workflow/kinds.ts": "Workflow, WorkflowTemplate",
    "./src/dialects/workflow/schedule/kind.ts": "ScheduledWorkflow",
    "./src/dialects/workflow/locks/kind.ts": "ConcurrencyLimit",
    "./src/dialects/workflow/cache/kind.ts": "CacheEntry",
    "./src/kernel/agents/agent-kind.ts": "Agent",
    "./src/dialects/tinkerbell/kinds.ts":
      "Hardware, HardwareV2, Osie, Template, TemplateV2, Workflow as TinkerbellWorkflow, WorkflowV2",
    "./src/dialects/wharf/kinds.ts": "Project, Build, Worker",
    "./src/dialects/vela/definitions/authoring.ts": "readAuthored",
    "./src/kernel/template/index.ts": "createCue, TemplateHost",
    "./src/lib/base/index.ts": "systemClock",
    "./src/kernel/apiserver/kinds/built-in-kinds.ts": "builtInKinds",
    "./src/kernel/apiserver/kinds/descriptions.ts": "describeDefinition",
  };
  const contents = Object.entries(names).map(([path, exported]) => `export { ${exported} } from "${path}";`);
  const leaveOut = {
    name: "leave-out-what-actions-import",
    setup: ({ onResolve }) =>
      onResolve({ filter: /^/ }, ({ kind, path }) =>
        kind === "dynamic-import" ? { path, external: true } : undefined,
      ),
  };
  const { outputFiles } = await build({
    stdin: { contents: contents.join("\n"), resolveDir: root },
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    target: "node20.19",
    plugins: [leaveOut],
    banner: { js: 'import{createRequire}from"node:module";const require=createRequire("file:///");' },
  });
  return await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}

const sources = await loadSources();
const pages = {
  "docs/reference/cli.md": cliPage(sources),
  "docs/reference/workflow.md": workflowPage(sources),
  "docs/reference/tinkerbell.md": tinkerbellPage(sources),
  "docs/reference/wharf.md": wharfPage(sources),
  "docs/reference/kubernetes.md": kubernetesPage(sources),
  "docs/reference/vela-definitions.md": await velaDefinitionsPage(sources, root),
};
for (const [path, text] of Object.entries(pages)) {
  const present = await readFile(`${root}${path}`, "utf8").catch(() => undefined);
  if (present === text) continue;
  if (process.argv.includes("--check")) {
    console.error(`${path} is not what the sources say; run: node scripts/reference.mjs`);
    process.exitCode = 1;
  } else await writeFile(`${root}${path}`, text);
}
