import { createHash } from "node:crypto";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  endRunner,
  exec,
  removeDirectory,
  slipway,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";

let directory: string;
let server: TestServer;
beforeAll(async () => {
  directory = await temporaryDirectory();
  server = await startServer(join(directory, "server"), ["--max-artifact-size", "1Mi"]);
});
afterAll(async () => {
  await server.stop();
  await endRunner(server.directory);
  await removeDirectory(directory);
});

const on = (...args: readonly string[]) => slipway([...args, "--kubeconfig", server.kubeconfig], { cwd: directory });
const root = join(import.meta.dirname, "../..");

/** Runs a workflow of these steps, each a shell script with more. */
async function run(name: string, steps: Readonly<Record<string, readonly [string, object]>>) {
  const spec = {
    activeDeadlineSeconds: 60,
    steps: Object.fromEntries(
      Object.entries(steps).map(([key, [script, more]]) => [
        key,
        { container: { image: "busybox", command: ["sh", "-c", script] }, ...more },
      ]),
    ),
  };
  const file = join(directory, `${name}.json`);
  const document = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", metadata: { name }, spec };
  await writeFile(file, JSON.stringify(document));
  return on("run", file);
}

test("the artifacts of a run are listed, described, and fetched byte for byte", async () => {
  const ran = await on("run", join(root, "examples/workflow/artifacts.yaml"));
  expect(ran.code, ran.err).toBe(0);
  const listed = await on("artifacts", "site");
  expect(listed.out).toMatch(
    /^STEP\s+NAME\s+SIZE\s+DIGEST\nbuild\s+report\s+15\s+sha256:\w{64}\nbuild\s+site\s+\d+\s+sha256:\w{64}\n$/,
  );
  expect((await on("describe", "site")).out).toContain("ARTIFACTS\nbuild/report  15 bytes");
  const got = await on("artifacts", "get", "site", "build", "report", "-o", "report.txt");
  expect(got, got.err).toMatchObject({ code: 0, out: "report.txt: 15 bytes\n" });
  expect(await readFile(join(directory, "report.txt"), "utf8")).toBe("built by build\n");
  expect((await on("artifacts", "get", "site", "build", "site")).code).toBe(0);
  const packed = await readFile(join(directory, "site.tar.gz"));
  expect(listed.out).toContain(`sha256:${createHash("sha256").update(packed).digest("hex")}`);
  expect((await exec("tar", ["-xzOf", join(directory, "site.tar.gz"), "index.html"])).out).toBe("<h1>Hello</h1>\n");
});

test("what is not there is told with what is, and a file that is there is kept", async () => {
  const unknown = await on("artifacts", "get", "site", "build", "reprot");
  expect(unknown.code).toBe(2);
  expect(unknown.err).toContain("site has no artifact build/reprot");
  expect(unknown.err).toContain("it has build/report, build/site");
  await writeFile(join(directory, "mine"), "mine");
  expect(await on("artifacts", "get", "site", "build", "report", "-o", "mine")).toMatchObject({ code: 2 });
  expect(await readFile(join(directory, "mine"), "utf8")).toBe("mine");
  expect(await on("artifacts", "get", "site", "build", "report", "-o", "mine", "--force")).toMatchObject({ code: 0 });
  expect((await readdir(directory)).filter((name) => name.endsWith(".part"))).toEqual([]);
});

test("attempts that leave nothing, too much or something malicious fail with the reason, and a retry leaves anew", async () => {
  const leaving = { outputArtifacts: [{ name: "out" }] };
  const ran = await run("bad", {
    missing: ["true", leaving],
    large: ["head -c 2000000 /dev/urandom > $SLIPWAY_ARTIFACTS/out", leaving],
    link: ["mkdir $SLIPWAY_ARTIFACTS/out && ln -s /etc/passwd $SLIPWAY_ARTIFACTS/out/x", leaving],
    again: [
      'test "$SLIPWAY_ATTEMPT" = 1 || echo $SLIPWAY_ATTEMPT > $SLIPWAY_ARTIFACTS/out',
      { ...leaving, retry: { limit: 1, initialSeconds: 0.1 } },
    ],
  });
  expect(ran.code).toBe(1);
  expect(ran.err).toContain('ArtifactMissing: artifact "out": nothing is at out of $SLIPWAY_ARTIFACTS');
  expect(ran.err).toContain('ArtifactTooLarge: artifact "out": larger than 1048576 bytes');
  expect(ran.err).toContain(
    'ArtifactInvalid: artifact "out": the link out/x leads out of the artifact, to /etc/passwd',
  );
  expect((await on("artifacts", "bad")).out).toMatch(/^STEP.*\nagain\s+out\s+2\s+sha256:\w+\n$/);
});

test("a run that is submitted again finds the files of the steps it reuses, and so does one that goes on", async () => {
  const gate = join(directory, "gate");
  const made = await run("again", {
    build: ["date +%N > $SLIPWAY_ARTIFACTS/out", { outputArtifacts: [{ name: "out" }] }],
    use: [
      `test -e ${gate} && cat $SLIPWAY_ARTIFACTS/in`,
      { dependencies: ["build"], inputs: { artifacts: [{ name: "in", from: "build/out" }] } },
    ],
  });
  expect(made.code).toBe(1);
  await writeFile(gate, "");
  const digestOf = async (name: string) => /sha256:\w+/.exec((await on("artifacts", name)).out)?.[0];
  const before = await digestOf("again");
  const resubmitted = await on("resubmit", "again", "--reuse", "-o", "json");
  expect(resubmitted.code, resubmitted.err).toBe(0);
  const { metadata } = JSON.parse(resubmitted.out) as { readonly metadata: { readonly name: string } };
  expect(await digestOf(metadata.name)).toBe(before);
  const retried = await on("retry", "again");
  expect(retried.code, retried.err).toBe(0);
  await expect
    .poll(async () => (await on("get", "wf", "again", "-o", "jsonpath={.status.phase}")).out.trim())
    .toBe("Succeeded");
  expect(await digestOf("again")).toBe(before);
});

test("the store is the server's alone, and keeps equal files once", async () => {
  const leaving = { outputArtifacts: [{ name: "out" }] };
  const same = ["mkdir $SLIPWAY_ARTIFACTS/out && echo same > $SLIPWAY_ARTIFACTS/out/file", leaving] as const;
  expect((await run("twins", { one: same, two: same })).code).toBe(0);
  const { out } = await on("artifacts", "twins");
  expect(new Set(out.match(/sha256:\w+/g))).toHaveLength(1);
  const store = join(server.directory, "artifacts");
  expect((await stat(store)).mode & 0o777).toBe(0o700);
  const digest = /sha256:(\w+)/.exec(out)?.[1] ?? "";
  expect((await readdir(join(store, "default"))).filter((name) => name === digest)).toHaveLength(1);
});
