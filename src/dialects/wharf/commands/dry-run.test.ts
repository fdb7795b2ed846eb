import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CommandLine, commandLine } from "#test/support/command-line.ts";

let line: CommandLine;
const definition = `inputs: [{name: pw, type: password, default: hunter22}]
build:
  web: {container: {image: "web:\${BUILD_REF}", cmds: ["login \${pw}"]}}
deploy:
  chart: {helm: {chart: c, name: n, namespace: s, repo: r, secret: ''}}
`;

beforeAll(async () => {
  line = await commandLine({ variables: { PATH: process.env["PATH"] ?? "", WHARF_INSTANCEID: "own" } });
  await mkdir(join(line.directory, "p"));
  await writeFile(join(line.directory, "p/.wharf-ci.yml"), definition);
});
afterAll(() => line.close());

test("a dry run prints the plan, and leaves neither a number nor results", async () => {
  const before = await readdir(line.directory);
  for (const words of [
    ["wharf", "run", "p", "--dry-run", "client"],
    ["run", "p", "--dry-run"],
    ["run", "--dry-run", "p"],
    ["run", "--dry-run=client", "p"],
    ["run", "--dry-run", "client", "p"],
  ]) {
    const { code, out } = await line.run(...words);
    expect(code).toBe(0);
    expect(out).toContain("stage 1 build\n  step 1 web: container\n    image        web:1\n");
    expect(out).toContain("login ***");
    expect(out).not.toContain("hunter22");
  }
  expect(await readdir(line.directory)).toEqual(before);
});

test("a dry run is data, too", async () => {
  const { out } = await line.run("wharf", "run", "p", "--dry-run", "client", "--build-id", "7", "-o", "json");
  const told = JSON.parse(out) as { readonly stages: readonly { readonly steps: readonly object[] }[] };
  expect(told.stages.map(({ steps }) => steps.length)).toEqual([1, 1]);
  expect(told.stages[0]?.steps[0]).toMatchObject({ stepId: 1, image: "web:7", args: ["login ***"] });
});

test("documents are tried out in one way, and everything else that stands behind the option is a file", async () => {
  const document = join(process.cwd(), "examples/workflow/hello.yaml");
  const { code: isFine, out } = await line.run("run", "--dry-run", document);
  expect([isFine, out]).toEqual([0, expect.stringContaining("name: hello-greet")]);
  const { code, err } = await line.run("run", document, "--dry-run", "server");
  expect([code, err]).toEqual([2, "slipway: --dry-run server is for builds, and these are documents\n"]);
});

test("a dry run on the machine itself says which programs are missing", async () => {
  const words = ["run", "p", "--dry-run", "server", "--runtime", "host"];
  const line2 = await commandLine({ variables: { PATH: "/nowhere" } });
  await writeFile(join(line2.directory, ".wharf-ci.yml"), definition);
  const { code, out, err } = await line2.run("wharf", "run", "--dry-run", "server", "--runtime", "host");
  expect(code).toBe(1);
  expect(out).toContain("step 2 chart: helm\n");
  expect(err).toContain("error: deploy/chart/helm: program helm is not installed");
  await line2.close();
  const stage = await line.run(...words, "--stage", "build");
  expect(stage).toMatchObject({ code: 0, err: expect.stringMatching(/: warning: .*image/) });
  const quiet = await line.run(...words, "--stage", "build", "-l", "error");
  expect(quiet).toMatchObject({ code: 0, err: "" });
});

test("what is wrong with settings ends with the code of the original, all of it told", async () => {
  await writeFile(
    join(line.directory, ".wharf-cmd-config.yml"),
    "worker: {runtime: dockr, artifacts: {maxFiles: x}}\n",
  );
  const { code, err } = await line.run("wharf", "run", "p", "--dry-run", "client");
  expect(code).toBe(4);
  expect(err).toContain(
    '.wharf-cmd-config.yml:1:19: error: worker.runtime: expected one of docker, kubernetes, host, found "dockr"',
  );
  expect(err).toContain("worker.artifacts.maxFiles: expected integer");
  for (const part of ["api", "provisioner", "aggregator", "watchdog"])
    expect(await line.run("wharf", part, "serve"), part).toMatchObject({ code: 4, err });
  expect(await line.run("up", "--data-dir", line.directory)).toMatchObject({ code: 2, err });
});
