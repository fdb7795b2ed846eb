import { spawn } from "node:child_process";
import { chmod, copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commands } from "#app/cli/commands/index.ts";
import { commandLine } from "#test/support/command-line.ts";
import {
  cleanEnvironment,
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
import { within } from "#test/support/within.ts";

let home: string;
let server: TestServer;

// The examples are about these runs: a diamond whose second step waits for a file, and the example that fails.
beforeAll(async () => {
  home = await temporaryDirectory();
  await mkdir(join(home, "bin"));
  await writeFile(join(home, "bin/slipway"), `#!/bin/sh\nexec "${process.execPath}" "${slipwayBin}" "$@"\n`);
  await chmod(join(home, "bin/slipway"), 0o755);
  await mkdir(join(home, ".config/fish/completions"), { recursive: true });
  await copyFile(join(root, "examples/workflow/hello.yaml"), join(home, "w.yaml"));
  await writeFile(join(home, "diamond.json"), JSON.stringify(diamond(join(home, "gate"))));
  await writeFile(join(home, "old.yaml"), old);
  server = await startServer(join(home, "server"));
  await copyFile(server.kubeconfig, join(home, "east.kubeconfig"));
  expect((await onServer("slipway run diamond.json --detach")).out).toBe("workflow/diamond created\n");
  await writeFile(join(home, "rollout.json"), JSON.stringify(rollout));
  await onServer("slipway run rollout.json --detach");
  await onServer(`slipway run ${root}examples/workflow/cached.yaml`);
  await onServer(`slipway run ${root}examples/workflow/retry.yaml --param directory=${home}`);
  // A template and a schedule beside a run: what is no run is stored with it.
  const others = `${root}examples/workflow/templates.yaml ${root}examples/workflow/nightly.yaml`;
  expect((await onServer(`slipway run ${others}`)).code).toBe(0);
  await onServer(`slipway run ${root}examples/workflow/artifacts.yaml`);
});

afterAll(async () => {
  await server.stop();
  await endRunner(server.directory);
  await removeDirectory(home);
});

const diamond = (gate: string) => {
  const step = (script: string, ...dependencies: string[]) => ({
    dependencies,
    container: { image: "busybox", command: ["sh", "-c", script] },
  });
  const steps = {
    one: step("true"),
    two: step(`while ! test -e ${gate}; do sleep 0.05; done; echo through`, "one"),
    three: step("true", "one"),
    four: step("true", "two", "three"),
  };
  return { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", metadata: { name: "diamond" }, spec: { steps } };
};

/** As the controller that Workflows come from takes it. */
const old = `apiVersion: workflow.k8s.io/v1
kind: Workflow
metadata: {name: old}
spec:
  steps:
  - name: one
    jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}}}}
`;

/** Questions, and a step that comes after one that is not answered. */
const rollout = (() => {
  const inputs = [{ name: "replicas", type: "integer" }];
  const steps = {
    plan: { approval: { inputs } },
    "sign-off": { approval: {} },
    publish: { approval: {} },
    unanswered: { approval: {} },
    announce: { dependencies: ["unanswered"], wait: { seconds: 1 } },
  };
  return { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", metadata: { name: "rollout" }, spec: { steps } };
})();

/** Where an example is typed: paths of the repository from a clone, everything else in the home directory. */
const placeOf = (example: string) => (example.includes("examples/") ? root : home);

const environment = (more: Readonly<Record<string, string>> = {}) => ({
  HOME: home,
  PATH: `${join(home, "bin")}:${process.env["PATH"]}`,
  ...more,
});

const inShell = (line: string, env: Readonly<Record<string, string>>): Promise<Finished> =>
  exec("bash", ["-c", line], { cwd: placeOf(line), env: environment(env) });

/**
 * The first example of a command is typed into a shell, and each that runs something or has words of the shell; the others are command lines
 * in this process.
 */
const shown = new Set<string>();
async function typed(line: string, variables: Readonly<Record<string, string>>) {
  const [program, ...words] = line.split(" ");
  const name = words[0] ?? "";
  const isFirst = !shown.has(name);
  shown.add(name);
  if (isFirst || program !== "slipway" || name === "run" || /["'$|<>&;*\\]/.test(line))
    return await inShell(line, variables);
  const cli = await commandLine({ directory: placeOf(line), home, variables: environment(variables) });
  return await cli.run(...words);
}

const onServer = (line: string) => typed(line, { SLIPWAY_KUBECONFIG: server.kubeconfig });

const phaseIs = async (...phases: readonly string[]): Promise<void> => {
  const phase = async () => (await onServer("slipway get wf diamond -o jsonpath={.status.phase}")).out.trim();
  await expect.poll(phase).toBeOneOf([...phases]);
};

/** Starts an example that goes on by itself, and stops it once it has printed what is waited for. Resolves with how it ended. */
async function untilPrinted(line: string, wanted: RegExp, env: Readonly<Record<string, string>>): Promise<Finished> {
  const child = spawn("bash", ["-c", line], {
    cwd: placeOf(line),
    env: cleanEnvironment(environment(env)),
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let out = "";
  let err = "";
  let isAsked = false;
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  child.stdout.on("data", (chunk: Buffer) => {
    out += chunk.toString();
    if (isAsked || !wanted.test(out) || child.pid === undefined) return;
    isAsked = true;
    process.kill(-child.pid, "SIGTERM");
  });
  const ended = new Promise<Finished>((resolve) => child.once("close", (code) => resolve({ code, out, err })));
  return await within(100_000, `${line} prints ${wanted} and ends`, ended, () => `${out}${err}`);
}

const examplesOf = (...names: readonly string[]) =>
  commands.filter(({ name }) => names.includes(name)).flatMap(({ examples }) => examples);
const steering = ["suspend", "resume", "cancel", "retry"];
const deciding = ["approve", "reject", "skip"];

test("every command has an example, and each begins somewhere with the command", () => {
  for (const { name, hidden, examples } of commands.filter((spec) => spec.hidden !== true)) {
    expect(hidden).not.toBe(true);
    expect(examples.length, name).toBeGreaterThan(0);
    for (const example of examples) expect(example).toContain(`slipway ${name}`);
  }
});

describe("examples that steer a run", () => {
  test.each([0, 1])("number %d of suspend, resume, cancel and retry", async (index) => {
    for (const verb of steering) {
      await phaseIs(...(verb === "resume" ? ["Suspended"] : verb === "retry" ? ["Canceled"] : ["Running"]));
      const [example = ""] = examplesOf(verb).slice(index);
      const { code, err } = await onServer(example);
      expect(code, `${example}\n${err}`).toBe(0);
    }
  });

  test("there are two of each", async () => {
    expect(steering.map((verb) => examplesOf(verb).length)).toEqual([2, 2, 2, 2]);
    await writeFile(join(home, "gate"), "");
    await phaseIs("Succeeded");
  });
});

test.each(examplesOf(...deciding))("%s", async (example) => {
  const { code, out, err } = await onServer(example);
  expect(code, err).toBe(0);
  expect(out).toMatch(/^workflow\/rollout step \S+ (?:approved|rejected|skipped)/);
});

const endless = (example: string) => / -w\b/.test(example);

describe("examples that run something again", () => {
  test.each(examplesOf("resubmit"))("%s", async (example) => {
    const { code, out, err } = await onServer(example);
    expect(code, err + out).toBe(0);
    expect(err + out).toMatch(/diamond-[a-z0-9]{5}/);
  });
});

/** Commands that change nothing. */
const looks = [
  "get",
  "describe",
  "why",
  "cache",
  "logs",
  "artifacts",
  "lint",
  "graph",
  "simulate",
  "diff",
  "convert",
  "wharf",
  "wharf lint",
  "wharf vars list",
  "wharf vars sub",
  "wharf vars yml",
  "version",
  "completion",
];

describe("examples that look at runs and documents", () => {
  const looking = examplesOf(...looks);

  test.each(looking.filter((example) => !endless(example)))("%s", async (example) => {
    const { code, out, err } = await onServer(example);
    expect(code, err + out).toBe(0);
  });

  test.each(looking.filter(endless))("%s", async (example) => {
    const { out } = await untilPrinted(example, /diamond-two-/, { SLIPWAY_KUBECONFIG: server.kubeconfig });
    expect(out).toContain("diamond-two-");
  });

  test("they printed something where something was to be seen", async () => {
    expect((await onServer("slipway logs diamond two -f")).out).toContain("through\n");
    expect((await onServer("slipway logs retry flaky --attempt 1")).out).toBe("attempt 1\n");
  });
});

test.each(examplesOf("run", "wharf run"))("%s", async (example) => {
  // What is stored is on a server, and a web UI of the command's own would stay.
  const { code, err } = await (/ (?:wft|schedule)\/| --ui /.test(example) ? onServer(example) : inShell(example, {}));
  expect(code, err).toBe(0);
});

test.each(examplesOf("up").filter((example) => !example.includes("--detach")))("%s", async (example) => {
  // The port of the example may be taken on the machine of the test, which does not have its address either.
  const line = example.replace(/--port \d+/, "--port 0").replace(/--listen \S+/, "--listen 127.0.0.2 --port 0");
  const { code, out, err } = await untilPrinted(line, /is ready at https:\S+\n(?:.*\n){3}/, {});
  expect(out, err).toContain("is ready at https://127.0.0.1:");
  expect(code, err).toBe(0);
  for (const directory of [".slipway", "state"]) await endRunner(join(home, directory));
});

test.each([
  ...examplesOf("up").filter((example) => example.includes("--detach")),
  ...examplesOf("status"),
  ...examplesOf("down"),
])("%s", async (example) => {
  const { code, err } = await inShell(example, { SLIPWAY_DATA_DIR: join(home, "background") });
  expect(code, err).toBe(0);
});

test.each(examplesOf("store"))("%s", async (example) => {
  const { code, out, err } = await inShell(example, { SLIPWAY_DATA_DIR: server.directory });
  expect(code, err + out).toBe(0);
});

test.each(examplesOf("credential"))("%s", async (example) => {
  const { code, err } = await onServer(example);
  expect(code, err).toBe(0);
});

describe("examples that join and detach a cluster", () => {
  test.each(examplesOf("cluster"))("%s", async (example) => {
    const { code, out, err } = await onServer(example);
    expect(code, err + out).toBe(0);
    expect(out).toContain("east");
  });
});

test.each(examplesOf("ui"))("%s", async (example) => {
  const run = example.includes("--port")
    ? () => untilPrinted(example, /#code=/, {})
    : () => (example.includes(".kubeconfig") ? inShell(example, {}) : onServer(example));
  const { code, err } = await run();
  expect(code, err).toBe(0);
});

// What is deleted has been looked at before.
test.each(examplesOf("apply", "wait", "delete"))("%s", async (example) => {
  const { code, out, err } = await onServer(example);
  expect(code, err + out).toBe(0);
});

test("no command was left out", () => {
  // Words with verbs behind them have the examples of those.
  const families = ["wharf vars", "wharf provisioner", "wharf api", "wharf aggregator", "wharf watchdog", "rebar"];
  // Those of the agent, of Tinkerbell, of Rebar, of results of builds, of applications and of what is at work for a cluster are tried beside their own tests.
  const tried = [
    ...steering,
    ...deciding,
    ...looks,
    "cluster",
    "credential",
    "ui",
    "resubmit",
    "run",
    "apply",
    "wait",
    "delete",
    "up",
    "down",
    "status",
    "store",
    "agent",
    "tink",
    "controllers",
    "crds",
    "wharf results",
    "wharf run",
    "wharf shell",
    "wharf clone",
    "def",
    "terminate",
    "restart",
    "rollback",
    "debug",
    "dry-run",
    ...["agent", "server", "drpcli", "jq", "bundle", "unbundle"].map((verb) => `rebar ${verb}`),
    ...families,
    ...["list", "create", "delete", "serve"].map((verb) => `wharf provisioner ${verb}`),
    ...["api", "aggregator", "watchdog"].map((part) => `wharf ${part} serve`),
  ];
  expect(commands.flatMap(({ name, hidden }) => (hidden === true ? [] : [name])).sort()).toEqual(tried.sort());
});
