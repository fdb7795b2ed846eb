import { spawn } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  cleanEnvironment,
  endRunner,
  exec,
  type Finished,
  removeDirectory,
  root,
  slipway,
  slipwayBin,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";
import { commandLine } from "#test/support/command-line.ts";
import { within } from "#test/support/within.ts";

let directory: string;
let server: TestServer;

beforeAll(async () => {
  directory = await temporaryDirectory();
  server = await startServer(directory);
});

afterAll(async () => {
  await server.stop();
  await endRunner(directory);
  await removeDirectory(directory);
});

/** The command line against the server of this file, in this process: what is the process's own, signals and the like, has tests of its own. */
const cli = async (...args: string[]): Promise<Finished> => {
  const line = await commandLine({
    directory: root,
    home: directory,
    variables: cleanEnvironment({ SLIPWAY_KUBECONFIG: server.kubeconfig }),
  });
  return await line.run(...args);
};

async function must(...args: string[]): Promise<string> {
  const { code, out, err } = await cli(...args);
  if (code !== 0) throw new Error(`slipway ${args.join(" ")} ended with ${code}\n${err}${out}`);
  return out;
}

/** Writes a workflow of shell steps and returns its path. */
async function workflowFile(name: string, steps: Record<string, object>, spec: object = {}): Promise<string> {
  const path = join(directory, `${name}.json`);
  await writeFile(
    path,
    JSON.stringify({
      apiVersion: "slipway.dev/v1alpha1",
      kind: "Workflow",
      metadata: { name },
      spec: { ...spec, steps },
    }),
  );
  return path;
}

/** Writes any document and returns its path. */
async function documentFile(name: string, kind: string, spec: object): Promise<string> {
  const path = join(directory, `${name}-${kind}.json`);
  const envelope = { apiVersion: "slipway.dev/v1alpha1", kind, metadata: { name } };
  await writeFile(path, JSON.stringify({ ...envelope, spec }));
  return path;
}

const shell = (script: string, more: object = {}) => ({
  container: { image: "busybox", command: ["sh", "-c", script] },
  ...more,
});

test("the tail of a failed step shows the exit code of each container, and of each item", async () => {
  const container = (name: string, code: number) => ({
    name,
    image: "busybox",
    command: ["sh", "-c", `echo in ${name}; exit ${code}`],
  });
  const spec = {
    restartPolicy: "Never",
    containers: [container("main", 3), container("side", 7), container("fine", 0)],
  };
  const file = await workflowFile("several-codes", {
    pair: { jobTemplate: { spec: { backoffLimit: 0, template: { spec } } } },
    each: shell("echo $SLIPWAY_ITEM; exit $SLIPWAY_ITEM", { forEach: { items: [4, 5] } }),
  });
  const { code, err } = await cli("run", file);
  expect(code, err).toBe(1);
  const tails = err.split("\n").filter((line) => /^(?:pair|each)\b/.test(line));
  expect(tails.filter((line) => line.startsWith("pair")).sort()).toEqual([
    "pair (fine): exit code 0",
    "pair (side): exit code 7",
    "pair: exit code 3",
  ]);
  expect(tails.filter((line) => line.startsWith("each"))).toEqual(["each[0]: exit code 4", "each[1]: exit code 5"]);
});

describe("exit codes of run", () => {
  test("2: a document that is wrong, with every problem and its place", async () => {
    const file = join(directory, "wrong.yaml");
    await writeFile(
      file,
      "apiVersion: slipway.dev/v1alpha1\nkind: Workflow\nmetadata: {name: wrong}\nspec:\n  steps:\n    a:\n      dependencies: [b]\n    c: {}\n",
    );
    const { code, err } = await slipway(["run", file]);
    expect(code).toBe(2);
    expect(err).toContain(`${file}:6:5: error: spec.steps.a: exactly one of `);
    expect(err).toContain(`${file}:7:22: error: spec.steps.a.dependencies[0]: no step "b"`);
    expect(err).toContain(`${file}:8:8: error: spec.steps.c: exactly one of `);
  });

  test("3: canceled", async () => {
    const file = await workflowFile("to-cancel", { a: shell("sleep 60") });
    const running = cli("run", file);
    const phase = async () => (await cli("get", "wf", "to-cancel", "-o", "jsonpath={.status.phase}")).out.trim();
    await expect.poll(phase).toBe("Running");
    expect(await must("cancel", "to-cancel", "--reason", "no need")).toMatch(
      /^workflow\/to-cancel (?:canceled|cancel requested)\n$/,
    );
    const { code, err } = await running;
    expect(code, err).toBe(3);
    expect(err).toContain("canceled by slipway:admin: no need");
    const by = "-o=jsonpath={.items[?(@.spec.target.name=='to-cancel')].status.by}";
    expect(await must("get", "runactions", by)).toBe("slipway:admin\n");
  });

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)("%s cancels the run, and the command ends with %i after the final steps", async (signal, expected) => {
    const mark = join(directory, `final-${signal}`);
    const file = await workflowFile(
      `interrupted-${expected}`,
      { a: shell("sleep 60") },
      { finally: { last: shell(`echo done >${mark}`) } },
    );
    const child = spawn(process.execPath, [slipwayBin, "run", file], {
      cwd: root,
      env: cleanEnvironment(),
      stdio: ["ignore", "ignore", "pipe"],
    });
    let err = "";
    let isTold = false;
    child.stderr.on("data", (chunk: Buffer) => {
      err += chunk.toString();
      if (!err.includes("a: Running") || isTold) return;
      isTold = child.kill(signal);
      // A terminal that is closed may send it twice.
      if (signal === "SIGHUP") child.kill(signal);
    });
    // Not its exit, before which not all that it has printed need have come.
    const ended = new Promise((resolve) => child.once("close", resolve));
    const code = await within(60_000, `slipway run ends after ${signal}`, ended, () => err);
    expect(code, err).toBe(expected);
    expect(err).toContain("last: Succeeded");
    expect(await readFile(mark, "utf8")).toBe("done\n");
  });
});

test("logs print every step's output under its name, or one step's alone", async () => {
  const file = await workflowFile("spoken", {
    a: shell("echo from a"),
    b: shell("echo from b", { dependencies: ["a"] }),
  });
  await cli("run", file);
  expect(await must("logs", "spoken")).toBe("a | from a\nb | from b\n");
  expect(await must("logs", "spoken", "b")).toBe("from b\n");
  expect((await cli("logs", "spoken", "x")).err).toContain('no step "x"');
});

test("lint reports what would be refused and what is unwise, and nothing of a good document", async () => {
  const good = await slipway(["lint", "examples/workflow"]);
  expect(good, good.out + good.err).toMatchObject({ code: 0 });
  const file = await workflowFile("bad", { a: shell("true", { dependencies: ["a"] }) });
  const bad = await slipway(["lint", file, "-o", "json"]);
  expect(bad.code).toBe(2);
  expect(JSON.parse(bad.out)).toEqual(
    expect.arrayContaining([expect.objectContaining({ severity: "error", path: expect.any(String) })]),
  );
});

test("completion scripts exist for each shell, and words are completed", async () => {
  for (const shellName of ["bash", "zsh", "fish", "powershell"]) {
    const { code, out } = await slipway(["completion", shellName]);
    expect(code).toBe(0);
    expect(out).toContain("slipway");
  }
  expect((await slipway(["complete", "--", "desc"])).out).toContain("describe");
  await cli("run", await workflowFile("completed", { a: shell("true") }));
  // Words are looked up for a second at most, which a busy machine may take for the connection alone.
  const env = { SLIPWAY_KUBECONFIG: server.kubeconfig };
  const completed = async () => (await slipway(["complete", "--", "describe", "comp"], { env })).out;
  await expect.poll(completed, { timeout: 60_000 }).toContain("completed");
});

test("version, help and unknown words", async () => {
  expect((await slipway(["version"])).out).toMatch(/^slipway \d+\.\d+\.\d+\n$/);
  const help = await slipway(["run", "--help"]);
  expect(help.out.startsWith("Examples:\n")).toBe(true);
  expect(Math.max(...help.out.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
  const typo = await slipway(["descrbe"]);
  expect(typo.code).toBe(2);
  expect(typo.err).toContain("describe");
});

test("a second server on the same directory is refused with the owner's process and address", async () => {
  const { code, err } = await slipway(["up", "--data-dir", directory, "--port", "0"]);
  expect(code).toBe(1);
  expect(err).toContain(String(server.process.pid));
  expect(err).toContain(server.url);
});

test.runIf(process.platform === "linux").each([
  [
    "the data directory",
    ["--data-dir", "/proc/slipway"],
    /cannot keep data in \/proc\/slipway: ENOENT.*\n.*--data-dir/,
  ],
  ["the kubeconfig's", ["--kubeconfig", "/proc/slipway/config"], /ENOENT.*mkdir '\/proc\/slipway'/],
])("a directory that the kernel refuses to make ends the start: %s", async (_which, args, said) => {
  const { code, out, err } = await slipway(["up", "--data-dir", join(directory, "refused"), "--port", "0", ...args]);
  expect(code, err).toBe(1);
  expect(out).toBe("");
  expect(err).toMatch(said);
});

test("a store that contradicts itself ends up and store with 4, and the way out is told", async () => {
  const corrupt = join(directory, "corrupt");
  await mkdir(join(corrupt, "store"), { recursive: true, mode: 0o700 });
  await writeFile(join(corrupt, "store/store.mdb"), Buffer.alloc(65_536, 7));
  for (const words of [
    ["up", "--port", "0"],
    ["store", "check"],
  ]) {
    const { code, out, err } = await slipway([...words, "--data-dir", corrupt]);
    expect(code, err).toBe(4);
    expect(out).toBe("");
    expect(err).toContain("slipway store restore FILE");
  }
});

test("what a running server has stored is backed up and checked under its hands, and restored elsewhere", async () => {
  const file = join(directory, "backup.mdb");
  const store = (...words: readonly string[]) => slipway(["store", ...words, "--data-dir", directory]);
  expect(await store("backup", file)).toMatchObject({ code: 0, err: "" });
  expect((await store("check")).err).toMatch(
    /: sound: \d+ objects, .* \(checked a copy, because a server uses the store\)\n$/,
  );
  const refused = await store("restore", file);
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining(server.url) });
  const elsewhere = join(directory, "elsewhere");
  expect((await slipway(["store", "restore", file, "--data-dir", elsewhere])).code).toBe(0);
  const { out } = await slipway(["store", "export", "-o", "json", "--data-dir", elsewhere]);
  expect(JSON.parse(out)).toMatchObject({
    kind: "List",
    items: expect.arrayContaining([expect.objectContaining({ kind: "Namespace" })]),
  });
});

test("a bad Job inside of a step is refused by the server and by lint, in the same words and at the same field", async () => {
  const pod = { restartPolicy: "Never", containers: [{ name: "main", image: "busybox" }] };
  const jobTemplate = { spec: { parallelism: -1, backoffLimit: "two", completion: 1, template: { spec: pod } } };
  const file = await workflowFile("bad-job", { a: { jobTemplate } });
  const linted = await slipway(["lint", file]);
  const kubeconfig = { env: { SLIPWAY_KUBECONFIG: server.kubeconfig } };
  const run = await slipway(["run", file], kubeconfig);
  for (const { code, text } of [
    { code: linted.code, text: linted.out },
    { code: run.code, text: run.err },
  ]) {
    expect(code).toBe(2);
    expect(text).toContain("spec.steps.a.jobTemplate.spec.parallelism: Invalid value: -1");
    expect(text).toContain('spec.steps.a.jobTemplate.spec.backoffLimit: Invalid value: "two"');
    expect(text).toContain("spec.steps.a.jobTemplate.spec.completion: is not a field of a Job");
  }
});

test("what is no text takes one line to refuse", async () => {
  const { code, out } = await slipway(["lint", process.execPath, "/bin/sh", "-"], { input: "a: \0" });
  expect(code).toBe(2);
  expect(out.split("\n")).toHaveLength(4);
  expect(out).toContain("/bin/sh:1:1: error: not text: expected YAML or JSON in UTF-8\n");
});

test("without a control plane the error says how to start one", async () => {
  const { code, err } = await slipway(["get", "wf"], { env: { SLIPWAY_DATA_DIR: join(directory, "nobody") } });
  expect(code).toBe(1);
  expect(err).toContain("slipway up");
});

test("without an engine the docker runtime says where it looked and how to get one", async () => {
  const socket = join(directory, "no-engine.sock");
  const args = ["up", "--runtime", "docker", "--port", "0", "--data-dir", join(directory, "docker")];
  const { code, err } = await slipway(args, { env: { DOCKER_HOST: `unix://${socket}` } });
  expect(code).toBe(1);
  expect(err).toContain(`no Docker Engine answers at unix://${socket}`);
  expect(err).toContain("sudo apt-get install docker.io");
});

describe("logs of runs inside of a run", () => {
  const say = (word: string, more: object = {}) => shell(`echo ${word}`, more);
  const child = (steps: object, more: object = {}) => ({ workflow: { spec: { steps } }, ...more });

  test("are called by the way to them, and can be asked for", async () => {
    const run = await workflowFile("nested", {
      own: say("own"),
      part: child({ tell: say("told"), deep: child({ down: say("deep") }) }),
      many: child({ each: shell('echo "item"') }, { forEach: { items: [1, 2] } }),
    });
    await must("run", run);
    const lines = (text: string) => text.trimEnd().split("\n").sort();
    const all = [
      "many[0]/each | item",
      "many[1]/each | item",
      "own | own",
      "part/deep/down | deep",
      "part/tell | told",
    ];
    expect(lines(await must("logs", "nested"))).toEqual(all);
    expect(lines(await must("logs", "nested", "-f"))).toEqual(all);
    expect(lines(await must("logs", "nested", "part"))).toEqual(["part/deep/down | deep", "part/tell | told"]);
    expect(lines(await must("logs", "nested", "part/deep"))).toEqual(["part/deep/down | deep"]);
    expect(lines(await must("logs", "nested", "many[1]/each"))).toEqual(["many[1]/each | item"]);
    expect(lines(await must("logs", "nested", "own"))).toEqual(["own"]);
  });

  test("come while they are written, and the end of what failed is shown", async () => {
    const gate = join(directory, "inner-gate");
    const run = await workflowFile("nested-live", {
      part: child({
        begin: say("begun"),
        wait: shell(`while ! test -e ${gate}; do sleep 0.05; done; echo through`, { dependencies: ["begin"] }),
        fail: shell("echo broken; exit 3", { dependencies: ["wait"] }),
      }),
    });
    const child_ = spawn(process.execPath, [slipwayBin, "run", run, "--logs"], {
      env: cleanEnvironment({ SLIPWAY_KUBECONFIG: server.kubeconfig }),
      stdio: ["ignore", "pipe", "pipe"],
    });
    let out = "";
    let err = "";
    child_.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
    child_.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
    const ended = new Promise<number | null>((resolve) => child_.once("close", resolve));
    await expect.poll(() => out, { timeout: 30_000 }).toContain("part/begin | begun\n");
    await writeFile(gate, "");
    expect(await within(60_000, "the run ends", ended, () => `${out}${err}`)).toBe(1);
    // Each container has a follower of its own.
    expect(out.trimEnd().split("\n").sort()).toEqual([
      "part/begin | begun",
      "part/fail | broken",
      "part/wait | through",
    ]);
    expect(err).toMatch(/part\/fail: .*\n {2}broken\n/);
  });
});

test("templates and schedules are described, other kinds are left to kubectl", async () => {
  const template = await documentFile("told", "WorkflowTemplate", {
    params: [{ name: "who", required: true }],
    steps: { greet: shell("true"), part: { dependencies: ["greet"], wait: { seconds: 1 } } },
  });
  const schedule = await documentFile("yearly", "ScheduledWorkflow", {
    schedule: "@yearly",
    timeZone: "Asia/Kolkata",
    workflowTemplate: { spec: { steps: { only: shell("true") } } },
  });
  const run = await workflowFile("beside", { only: shell("true") });
  await must("run", template, schedule, run);
  const told = await must("describe", "wft", "told");
  expect(told).toMatch(/^who +string +\(required\)/m);
  expect(told).toMatch(/^part +wait +greet +1s$/m);
  const yearly = await must("describe", "scheduledworkflow/yearly");
  expect(yearly).toMatch(/^Next: +\d{4}-01-01T00:00:00\+05:30 \(in /m);
  expect(yearly).toMatch(/^Runs: +none$/m);
  expect(JSON.parse(await must("describe", "swf", "yearly", "-o", "json"))).toMatchObject({
    kind: "ScheduledWorkflow",
  });
  const other = await cli("describe", "configmap", "any");
  expect(other.code).toBe(2);
  expect(other.err).toContain("objects of kind ConfigMap are not runs");
});

describe("a template that the server has", () => {
  const params = [
    { name: "count", type: "integer", minimum: 1 },
    { name: "hosts", type: "array", default: [] },
  ];
  const steps = { say: shell("true", { outputs: { next: { expression: "params.count + 1", default: 0 } } }) };

  beforeAll(async () => {
    const template = await documentFile("counts", "WorkflowTemplate", { params, steps });
    const starter = await workflowFile("starter", { only: shell("true") });
    await must("run", template, starter);
  });

  test("says how the arguments of a run are read, also of one that is submitted again", async () => {
    const run = await documentFile("counted", "Workflow", { templateRef: { name: "counts" } });
    await must("run", run, "--param", "count=4", "--param", 'hosts=["a"]');
    const argumentsOf = async (name: string) =>
      (JSON.parse(await must("get", "workflow", name, "-o", "json")) as { spec: { arguments: unknown } }).spec
        .arguments;
    expect(await argumentsOf("counted")).toEqual({ count: 4, hosts: ["a"] });
    const out = await must("resubmit", "counted", "--param", "count=5", "--detach");
    expect(await argumentsOf(out.split(/[/ ]/)[1] ?? "")).toEqual({ count: 5, hosts: ["a"] });
  });

  test("refuses what does not fit before anything is started", async () => {
    const run = await documentFile("uncounted", "Workflow", { templateRef: { name: "counts" } });
    const refused = await cli("run", run, "--param", "count=many", "--param", "cont=2");
    expect(refused.code).toBe(2);
    expect(refused.err).toContain('spec.arguments.count: expected an integer, found "many"');
    expect(refused.err).toContain('no parameter "cont" is declared (did you mean "count"?)');
    expect((await cli("get", "workflow", "uncounted")).code).not.toBe(0);
  });

  test("is needed for arguments, which could not be read without it", async () => {
    const run = await documentFile("lost", "Workflow", { templateRef: { name: "nowhere" } });
    const refused = await cli("run", run, "--param", "count=4");
    expect(refused).toMatchObject({ code: 2 });
    expect(refused.err).toContain('there is no WorkflowTemplate "nowhere" among the documents or on the server');
  });
});

test("bash completes words, also when the script is sourced twice and the package bash-completion is absent", async () => {
  const script = `set -eu
slipway() { "${process.execPath}" "${slipwayBin}" "$@"; }
slipway completion bash >"${directory}/completion"
source "${directory}/completion"; source "${directory}/completion"
complete -p slipway
words() { COMP_LINE=$1 COMP_POINT=\${#1}; _slipway; printf '%s\\n' "\${COMPREPLY[*]}"; }
words "slipway des"; words "slipway up --runtime "; words "slipway run examples/workflow/hel"`;
  const { code, out, err } = await exec("bash", ["--norc", "-c", script]);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out.split("\n")).toEqual([
    "complete -o default -F _slipway slipway",
    "describe",
    "process docker",
    "examples/workflow/hello.yaml",
    "",
  ]);
});

test("a credential that is not accepted is told with what to do", async () => {
  const kubeconfig = join(directory, "revoked");
  const text = await readFile(server.kubeconfig, "utf8");
  await writeFile(
    kubeconfig,
    text.replace(/token: \S+/, "token: revoked").replaceAll(/client-(?:certificate|key)-data: .*/g, ""),
  );
  const { code, err } = await slipway(["get", "wf"], { env: { SLIPWAY_KUBECONFIG: kubeconfig } });
  expect(code).toBe(1);
  expect(err).toMatch(
    /^slipway: Unauthorized\nthe server does not accept this credential: .*\nslipway credential create\n$/,
  );
});
