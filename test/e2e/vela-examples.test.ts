import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commands } from "#app/cli/commands/index.ts";
import { commandLine } from "#test/support/command-line.ts";
import { SharedTemplates } from "#test/support/shared-templates.ts";
import {
  endRunner,
  exec,
  type Finished,
  removeDirectory,
  root,
  slipwayBin,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";
import { configMap } from "#test/support/vela.ts";

// The examples in the help of the verbs of applications, typed as they are. They are about an application `shop`, whose
// step `deploy` fails in its fourth version, and a run `report` that waits.

const directories = { home: "", data: "" };
let server: TestServer;
let templates: SharedTemplates;

const environment = () => ({ HOME: directories.home, SLIPWAY_KUBECONFIG: server.kubeconfig });

/** Command lines in this process, where CUE is loaded once; those with words of the shell are typed into one. */
async function run(line: string, directory = directories.home): Promise<Finished> {
  const [program, ...words] = line.split(" ");
  if (program === "slipway" && !/["'$|<>&;*\\]/.test(line)) {
    const host = { openTemplates: () => Promise.resolve(templates) };
    const cli = await commandLine({ directory, home: directories.home, variables: environment(), host });
    return await cli.run(...words);
  }
  const shell = ["-c", `slipway() { "${process.execPath}" "${slipwayBin}" "$@"; }; ${line}`];
  return await exec("bash", shell, { cwd: directory, env: environment() });
}
const must = async (line: string, directory?: string): Promise<string> => {
  const { code, out, err } = await run(line, directory);
  expect(code, `${line}\n${err}${out}`).toBe(0);
  return out;
};
const examplesOf = (name: string) => commands.find((spec) => spec.name === name)?.examples ?? [];

const object = { kind: "ConfigMap", apiVersion: "v1", metadata: { name: "deployed" } };
const shop = (version: number, deploy: object) => ({
  apiVersion: "core.oam.dev/v1beta1",
  kind: "Application",
  metadata: { name: "shop", annotations: { "workflowrun.oam.dev/debug": "true" } },
  spec: {
    components: [configMap("web", { version: `${version}` })],
    workflow: {
      steps: [
        { name: "web", type: "apply-component", properties: { component: "web" } },
        { name: "deploy", ...deploy },
      ],
    },
  },
});
const works = { type: "apply-object", properties: { value: object } };
const fails = { type: "suspend", timeout: "1s" };
const waits = { type: "suspend" };

const write = (name: string, value: object) => writeFile(join(directories.home, name), JSON.stringify(value));
const phaseOf = async (what: string): Promise<string> =>
  (await must(`slipway get ${what} -o jsonpath={.status.status}`)).trim();
const phase = (what: string, wanted: string) => expect.poll(() => phaseOf(what)).toBe(wanted);

const definition = `"my-trait": {
	type: "trait"
	description: "Adds a label"
	attributes: appliesToWorkloads: ["*"]
}
template: {
	parameter: value: string
	patch: metadata: labels: mine: parameter.value
}
`;

beforeAll(async () => {
  directories.home = await temporaryDirectory();
  directories.data = join(directories.home, "data");
  templates = await SharedTemplates.open();
  server = await startServer(directories.data);
  await mkdir(join(directories.home, "definitions"));
  for (const file of ["my-trait.cue", "old.cue", "definitions/my-trait.cue"])
    await writeFile(join(directories.home, file), definition);
  for (const version of [1, 2, 3]) {
    await write("app.yaml", shop(version, works));
    await must("slipway run app.yaml");
  }
}, 120_000);

afterAll(async () => {
  await templates.end();
  await server.stop();
  await endRunner(directories.data);
  await removeDirectory(directories.home);
});

test("of dry-run and debug", async () => {
  for (const example of examplesOf("dry-run")) await must(example, example.includes("examples/") ? root : undefined);
  const [example = ""] = examplesOf("debug");
  expect(await must(example)).toContain("deployed");
});

test("of restart, rollback and terminate", async () => {
  const [whole = "", step = ""] = examplesOf("restart");
  await must(whole);
  await phase("app/shop", "running");
  await write("app.yaml", shop(4, fails));
  await run("slipway run app.yaml");
  await phase("app/shop", "workflowFailed");
  await must(step);
  await phase("app/shop", "workflowFailed");
  for (const example of examplesOf("rollback")) {
    await must(example);
    await phase("app/shop", "running");
  }
  await write("app.yaml", shop(5, waits));
  await must("slipway run app.yaml --detach");
  await phase("app/shop", "workflowSuspending");
  const workflowSpec = { steps: [{ name: "wait", ...waits }] };
  const report = { apiVersion: "core.oam.dev/v1alpha1", kind: "WorkflowRun", metadata: { name: "report" } };
  await write("report.yaml", { ...report, spec: { workflowSpec } });
  await must("slipway run report.yaml --detach");
  await phase("wr/report", "suspending");
  for (const example of examplesOf("terminate")) await must(example);
  await phase("app/shop", "workflowTerminated");
  await phase("wr/report", "terminated");
});

test.each(examplesOf("def"))("%s", async (example) => {
  await must(example);
});
