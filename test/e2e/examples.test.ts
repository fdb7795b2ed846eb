import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readYaml } from "#lib/yaml/index.ts";
import { endRunner, exec, removeDirectory, slipway, startServer, temporaryDirectory } from "#test/support/slipway.ts";

let directory = "";

beforeEach(async () => {
  directory = await temporaryDirectory();
});

afterEach(() => removeDirectory(directory));

/** Lines of the logs of several steps: each step has a follower of its own, so that their order is not that of the steps. */
const inAnyOrder = (out: string): readonly string[] => out.trimEnd().split("\n").sort();

test("hello greets by the name it is given", async () => {
  const words = ["run", "examples/workflow/hello.yaml", "--param", "name=you"];
  const run = await slipway(words);
  expect(run.code, run.err).toBe(0);
  expect(run.out).toBe("hello, you\n");
  expect((await slipway([...words, "--logs"])).out).toBe("greet | hello, you\n");
});

test("the diamond runs its steps in the order of its edges", async () => {
  const run = await slipway(["run", "examples/workflow/diamond.yaml", "-o", "json"]);
  expect(run.code, run.err).toBe(0);
  const { status } = JSON.parse(run.out) as {
    status: { statuses: Record<string, { startTime: string; finishTime: string; complete: boolean }> };
  };
  const at = (step: string, end: "startTime" | "finishTime") => Date.parse(status.statuses[step]?.[end] ?? "");
  expect(Object.keys(status.statuses).sort()).toEqual(["apart", "four", "one", "three", "two"]);
  expect(Object.values(status.statuses).every(({ complete }) => complete)).toBe(true);
  for (const middle of ["two", "three"]) {
    expect(at(middle, "startTime")).toBeGreaterThanOrEqual(at("one", "finishTime"));
    expect(at("four", "startTime")).toBeGreaterThanOrEqual(at(middle, "finishTime"));
  }
});

test("a fan-out probes every combination of its matrix, and the loop ends when it is ready", async () => {
  const run = await slipway(["run", "examples/workflow/fan-out.yaml", "--logs"]);
  expect(run.code, run.err).toBe(0);
  expect(
    run.out
      .split("\n")
      .filter((line) => line.startsWith("probe"))
      .sort(),
  ).toEqual([
    "probe[0] | probing dns in eu",
    "probe[1] | probing ntp in eu",
    "probe[2] | probing registry in eu",
    "probe[3] | probing dns in us",
    "probe[4] | probing ntp in us",
  ]);
  expect(run.out).toContain('report | ["dns-eu","ntp-eu","registry-eu","dns-us","ntp-us"]\n');
});

test("steps that want one lock run after each other, the urgent one first", async () => {
  const run = await slipway(["run", "examples/workflow/locks.yaml", "--param", "env=staging", "-o", "json"]);
  expect(run.code, run.err).toBe(0);
  const { status } = JSON.parse(run.out) as {
    status: { concurrency: { key: string }; statuses: Record<string, { startTime: string; finishTime: string }> };
  };
  const { migrate, report } = status.statuses;
  expect(Date.parse(report?.startTime ?? "")).toBeGreaterThanOrEqual(Date.parse(migrate?.finishTime ?? ""));
  expect(status.concurrency.key).toBe("deploy-staging");
});

test("what a step leaves is found by the step that takes it", async () => {
  const run = await slipway(["run", "examples/workflow/artifacts.yaml", "--logs"]);
  expect(run.code, run.err).toBe(0);
  expect(run.out).toBe("check | built by build\n");
});

test("a token reaches the programs that need it, and what they print of it is masked", async () => {
  const run = await slipway(["run", "examples/workflow/secrets.yaml", "--logs"]);
  expect(run.code, run.err).toBe(0);
  expect(inAnyOrder(run.out)).toEqual(["announce/tell | telling the registry with ***", "push | logging in with ***"]);
});

test("a step with a cache compiles once for a source, and tells what is different about another", async () => {
  const server = await startServer(join(directory, "server"));
  try {
    const env = { SLIPWAY_KUBECONFIG: server.kubeconfig };
    const must = async (...words: readonly string[]) => {
      const done = await slipway(words, { env });
      expect(done.code, done.err).toBe(0);
      return done;
    };
    const first = await must("run", "examples/workflow/cached.yaml", "--logs");
    expect(inAnyOrder(first.out)).toEqual(["compile | compiling v1", "test | testing v1.bin"]);
    const second = await must("resubmit", "cached", "--logs");
    expect(second.out).toBe("test | testing v1.bin\n");
    const third = await must("resubmit", "cached", "--param", "source=v2", "--logs");
    expect(inAnyOrder(third.out)).toEqual(["compile | compiling v2", "test | testing v2.bin"]);
    const [, name = ""] = /this run is (\S+)/.exec(third.err) ?? [];
    const { out } = await must("cache", "explain", name, "compile");
    expect(out).toMatch(
      /^compile: miss, .*\nnearest: cached compile, stored \S+Z\n\nFIELD +WAS +IS\n\S+env\[SOURCE\]\S+ +v1 +v2\n$/,
    );
  } finally {
    await server.stop();
    await endRunner(server.directory);
  }
});

test("a hook hears of the end of a run, also on a control plane that ends with it", async () => {
  const heard = new Set<string>();
  const hook = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      // One whose answer is late is told again, the same.
      heard.add(`${request.url} ${body}`);
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((listening) => hook.listen(0, "127.0.0.1", listening));
  const { port } = hook.address() as AddressInfo;
  const example = await readFile("examples/workflow/notify.yaml", "utf8");
  await writeFile(join(directory, "notify.yaml"), example.replace("127.0.0.1:8099", `127.0.0.1:${port}`));
  try {
    const run = await slipway(["run", join(directory, "notify.yaml")]);
    expect(run.code, run.err).toBe(0);
    expect([...heard]).toEqual([
      expect.stringMatching(/^\/hooks\/deployments \{.*"type":"dev.slipway.workflow.Succeeded"/),
    ]);
  } finally {
    await new Promise((closed) => hook.close(closed));
  }
});

test("a template is run by its own name and by steps, whose outputs come back", async () => {
  const run = await slipway(["run", "examples/workflow/templates.yaml", "-o", "json"]);
  expect(run.code, run.err).toBe(0);
  expect(run.out).toContain('["hello, ann","hello, ben"]'.replaceAll('"', '\\"'));
  expect(run.out).toContain("goodbye, all");
});

test("what a child of the templates writes is among the logs of the run, as the guide says", async () => {
  const run = await slipway(["run", "examples/workflow/templates.yaml", "--logs"]);
  expect(run.code, run.err).toBe(0);
  expect(run.out).toBe('part/tell | ["hello, ann","hello, ben"]\n');
});

test("the template of the nightly backup dumps and verifies, also when it is run by hand", async () => {
  const file = readYaml(await readFile("examples/workflow/nightly.yaml", "utf8"));
  if (!file.ok) throw new Error("the example is no YAML");
  const [schedule] = file.value.documents.map(({ value }) => value as { spec: { workflowTemplate: object } });
  const workflow = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", metadata: { name: "by-hand" } };
  const path = join(directory, "by-hand.json");
  await writeFile(path, JSON.stringify({ ...schedule?.spec.workflowTemplate, ...workflow }));
  const run = await slipway(["run", path, "--logs"]);
  expect(run.code, run.err).toBe(0);
  expect(inAnyOrder(run.out)).toEqual(["dump | dump of now", "verify | 42 rows"]);
});

test("what is applied is one object, changed by every run, and conflicts with nobody of them", async () => {
  const run = await slipway(["run", "examples/workflow/apply.yaml", "-o", "json"]);
  expect(run.code, run.err).toBe(0);
  expect(JSON.parse(run.out)).toMatchObject({
    status: { statuses: { publish: { reference: { kind: "ConfigMap", name: "current-release" } } } },
  });
  const dry = await slipway(["run", "--dry-run", "examples/workflow/apply.yaml"]);
  expect(dry.out).toContain("# publish: publish (applied)\n");
  expect(dry.out).toContain("digest: <steps.pack.outputs.digest>");
});

test("retry tries again, runs what a failure asks for, always reports, and fails", async () => {
  const run = await slipway(["run", "examples/workflow/retry.yaml", "--param", `directory=${directory}`]);
  expect(run.code).toBe(1);
  expect(await readFile(join(directory, "attempts"), "utf8")).toBe("1\n2\n");
  expect(await readFile(join(directory, "rollback"), "utf8")).toBe("rolled back\n");
  expect(await readFile(join(directory, "report"), "utf8")).toBe("the run is Failed\n");
  expect(run.err).toContain("  disk is on fire\n");
  expect(run.err).toMatch(/deploy: Skipped \(DependencyFailed/);
});

test("the release checks, tests and packs a library, and its checksums hold", async () => {
  const run = await slipway(["run", "examples/workflow/release/release.yaml", "--param", `out=${directory}`]);
  expect(run.code, run.err).toBe(0);
  expect(await readFile(join(directory, "RESULT"), "utf8")).toBe("Succeeded\n");
  const archive = await readFile(join(directory, "numerals-1.2.0.tar.gz"));
  const digest = createHash("sha256").update(archive).digest("hex");
  expect(await readFile(join(directory, "SHA256SUMS"), "utf8")).toBe(`${digest}  numerals-1.2.0.tar.gz\n`);
  const listed = await exec("tar", ["-tzf", join(directory, "numerals-1.2.0.tar.gz")]);
  expect(listed.out.split("\n").filter((name) => name.endsWith(".mjs"))).toEqual(["src/roman.mjs", "src/words.mjs"]);
});

test("the examples need Node.js and POSIX tools: those of busybox will do", async () => {
  const tools = join(directory, "bin");
  await mkdir(tools);
  expect(await exec("busybox", ["--install", "-s", tools])).toMatchObject({ code: 0 });
  await symlink(process.execPath, join(tools, "node"));
  for (const name of ["hello", "diamond", "artifacts", "apply", "templates", "release/release"]) {
    const example = ["run", "--ephemeral", `examples/workflow/${name}.yaml`];
    const out = name.startsWith("release") ? ["--param", `out=${join(directory, "out")}`] : [];
    const { code, err } = await slipway([...example, ...out], { env: { PATH: tools } });
    expect(code, err).toBe(0);
  }
});

test("a library that fails its tests is not packed", async () => {
  const source = join(directory, "source");
  await exec("cp", ["-r", "examples/workflow/release/source", source]);
  await exec("sed", ["-i", "s/forty/fourty/", join(source, "src/words.mjs")]);
  const out = join(directory, "out");
  const run = await slipway([
    "run",
    "examples/workflow/release/release.yaml",
    "--param",
    `out=${out}`,
    "--param",
    `source=${source}`,
  ]);
  expect(run.code).toBe(1);
  expect(run.err).toContain("fourty-two");
  expect(await readFile(join(out, "RESULT"), "utf8")).toBe("Failed\n");
  await expect(readFile(join(out, "SHA256SUMS"))).rejects.toThrow("ENOENT");
});

test("the machine of Tinkerbell gets its plan, made of what its hardware says", async () => {
  const { code, out, err } = await slipway(["run", "examples/tinkerbell/machine.yaml", "-o", "json"]);
  expect(code, err).toBe(0);
  expect(JSON.parse(out)).toMatchObject({
    status: {
      state: "SUCCESS",
      agentID: "02:00:00:00:00:07",
      tasks: [{ actions: [{ environment: { ROOT: "/dev/nvme0n1p1" } }, { environment: { ADDRESS: "192.0.2.7" } }] }],
    },
  });
});
