import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "#lib/base/index.ts";
import { type DockerOptions, DockerStepRuntime } from "#dialects/wharf/worker/docker/docker-runtime.ts";
import { openDocker } from "#dialects/wharf/worker/docker/open-docker.ts";
import { artifactsOf, stepRuntimeContract } from "#dialects/wharf/worker/step-runtime.contract.ts";
import type { StepJob } from "#dialects/wharf/worker/step-runtime.ts";
import { repositoryIn } from "#dialects/wharf/worker/testing/project-repository.ts";
import { newJob, shellStep } from "#dialects/wharf/worker/testing/step-job.ts";
import type { StepPlan } from "#dialects/wharf/plan/step-plan.ts";
import { openContainerEngine } from "#kernel/runtimes/index.ts";
import { testImage } from "#test/support/docker-engine.ts";
import { startPushRegistry } from "#test/support/push-registry.ts";
import { startRegistry } from "#test/support/registry.ts";
import { engine } from "./engine.ts";

/** As a worker that begins a build. */
async function open(more: Partial<DockerOptions> = {}): Promise<DockerStepRuntime> {
  const surroundings = { variable: (name: string) => (name === "DOCKER_HOST" ? engine.host : undefined), home: "/" };
  return new DockerStepRuntime({
    engine: await openContainerEngine(surroundings, systemClock),
    build: { instance: "local", buildId: 12, projectId: 7 },
    clock: systemClock,
    pull: "never",
    logins: () => Promise.resolve([]),
    ...more,
  });
}

describe("contract", () => stepRuntimeContract(async () => ({ runtime: await open(), image: testImage })));

describe("contract with directories of this machine", () =>
  stepRuntimeContract(async () => ({ runtime: await open({ repo: "bind" }), image: testImage })));

describe("containers of steps", () => {
  let work: string;
  let runtime: DockerStepRuntime;
  let count = 0;

  beforeEach(async () => {
    work = await mkdtemp(join(tmpdir(), "slipway-wharf-docker-"));
    await mkdir(join(work, "project"));
    runtime = await open();
  });
  afterEach(async () => {
    await runtime.close();
    expect((await containers()).filter((name) => name.startsWith("wharf-build"))).toEqual([]);
    await rm(work, { recursive: true, force: true });
  });

  const containers = async () =>
    (await engine.docker("ps", "-a", "--format", "{{.Names}}")).out.split("\n").filter(Boolean);
  const project = (path: string, text: string) => writeFile(join(work, "project", path), text);
  const job = async (script: string, more: Partial<StepJob> = {}, step: Partial<StepPlan> = {}) =>
    newJob(work, shellStep(script, { image: testImage, stepId: ++count, ...step }), {
      repository: await repositoryIn(join(work, "project"), work),
      ...more,
    });
  const run = async (script: string, more: Partial<StepJob> = {}, step: Partial<StepPlan> = {}) => {
    const { job: made, output } = await job(script, more, step);
    return { end: await runtime.run(made), output };
  };

  test("lines have one time each, the engine's, and are in order for each stream", async () => {
    const pieces: { readonly stream: string; readonly text: string; readonly time: string | undefined }[] = [];
    const log: StepJob["log"] = {
      append: (stream, chunk, time) => pieces.push({ stream, text: chunk.toString(), time }) > 0,
      drained: () => Promise.resolve(),
    };
    const script =
      "i=0; while [ $i -lt 200 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done; head -c 40000 /dev/zero | tr '\\0' x";
    await run(script, { log });
    const textOf = (stream: string) =>
      pieces
        .filter((piece) => piece.stream === stream)
        .map(({ text }) => text)
        .join("");
    const numbered = (word: string) => Array.from({ length: 200 }, (_, n) => `${word} ${n}\n`).join("");
    expect(textOf("stderr")).toBe(numbered("err"));
    expect(textOf("stdout").trimEnd()).toBe(`${numbered("out")}${"x".repeat(40_000)}`);
    expect(pieces.filter(({ time }) => !/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d+Z$/.test(time ?? ""))).toEqual([]);
  });

  test("nothing is left of a step that has succeeded, failed or been cancelled, before the build ends", async () => {
    await run("true");
    await run("exit 3");
    const cancel = new AbortController();
    const { job: made, output } = await job("echo ready; sleep 1000", { signal: cancel.signal });
    const ended = runtime.run(made);
    await expect.poll(output).toContain("ready");
    cancel.abort();
    await ended;
    await expect.poll(containers).toEqual([]);
  });

  test("an image that is not there: never fetched, or fetched in vain", async () => {
    expect((await run("true", {}, { image: "nowhere:1" })).end).toMatchObject({
      status: "Failed",
      exitCode: null,
      reason: "ImageMissing",
      message: expect.stringContaining('"nowhere:1"'),
    });
    const pulling = await open({ pull: "missing" });
    const { job: made } = await job("true", {}, { image: "127.0.0.1:1/nobody/here:1" });
    expect(await pulling.run(made)).toMatchObject({
      reason: "ImagePull",
      message: expect.stringContaining("127.0.0.1:1"),
    });
    await pulling.close();
  });

  test("an image comes from its registry with a login of the machine, once for all steps", async () => {
    const registry = await startRegistry(await readFile(engine.rootTar), "me", "secret");
    const image = `${registry.host}/team/tool:1`;
    const config = join(work, "docker");
    await mkdir(config);
    const auth = Buffer.from("me:secret").toString("base64");
    await writeFile(join(config, "config.json"), JSON.stringify({ auths: { [registry.host]: { auth } } }));
    const opened = await openDocker({
      variables: { DOCKER_HOST: engine.host, DOCKER_CONFIG: config },
      build: { instance: "local" },
      clock: systemClock,
    });
    if (!opened.ok) throw opened.error;
    const steps = [1, 2, 3].map(() => job("echo $0", {}, { image }));
    const jobs = await Promise.all(steps);
    expect(
      await opened.value.check(
        jobs.map(({ job: { step } }) => step),
        new AbortController().signal,
      ),
    ).toEqual([]);
    const ends = await Promise.all(jobs.map(({ job: made }) => opened.value.run(made)));
    expect(ends.map(({ status }) => status)).toEqual(["Success", "Success", "Success"]);
    expect(registry.pulls()).toBe(1);
    await opened.value.close();
    await registry.close();
    await engine.docker("rmi", image);
  });

  test("a user who is not root may change the repository, leave artifacts and read what is mounted", async () => {
    await engine.docker("import", "--change", "ENV PATH=/bin", "--change", "USER 1234:1234", engine.rootTar, "user:1");
    await project("file", "old\n");
    const mounts = [{ path: "/etc/tool", files: new Map([["config.json", Buffer.from("{}\n")]]) }];
    const script = 'id -u; cat /etc/tool/config.json; echo new >> file; mkdir sub; cp file "$WHARF_ARTIFACTS_DIR/kept"';
    const { end, output } = await run(script, { mounts }, { image: "user:1" });
    expect([end.status, output()]).toEqual(["Success", "1234\n{}\n"]);
    expect(await artifactsOf(end)).toEqual(new Map([["kept", "old\nnew\n"]]));
  });

  test("files of secrets are root's alone, and are neither in the arguments nor in the labels of a container", async () => {
    const secret = "hunter2hunter2";
    const mounts = [{ path: "/root/.kube", files: new Map([["config", Buffer.from(secret)]]) }];
    const { job: made, output } = await job("stat -c '%a %u' /root/.kube/config; echo ready; sleep 1000", { mounts });
    const ended = runtime.run(made);
    await expect.poll(output).toBe("600 0\nready\n");
    const { out } = await engine.docker("inspect", ...(await containers()));
    expect(out).toContain('"slipway.dev/owner"');
    expect(out).not.toContain(secret);
    await runtime.close();
    await ended;
  });

  test("a step that uses more memory than it may was ended for that", async () => {
    const small = await open({ limits: { memoryBytes: 16 * 1024 * 1024 } });
    const { job: made } = await job("head -c 200000000 /dev/zero | tail -c 199999999 | wc -c; exit 137");
    expect(await small.run(made)).toMatchObject({ status: "Failed", reason: "OutOfMemory" });
    await small.close();
  });

  test("a container that somebody else removes has failed its step", async () => {
    const { job: made, output } = await job("echo ready; sleep 1000");
    const ended = runtime.run(made);
    await expect.poll(output).toContain("ready");
    await engine.docker("rm", "-f", ...(await containers()));
    // It is killed first, which may be seen before it is gone.
    const { status, reason } = await ended;
    expect([status, ["ContainerGone", "Signal"].includes(reason ?? "")]).toEqual(["Failed", true]);
  });

  test("links among artifacts are the files they lead to, once there is one inside", async () => {
    const script =
      'cd "$WHARF_ARTIFACTS_DIR"; echo x > a; mkdir d; ln a d/hard; ln -s ../a d/soft; ln -s d dir; ln -s ../repo/f out; mkfifo p';
    await project("f", "secret of the image\n");
    const { end } = await run(script);
    const found = await artifactsOf(end);
    expect([...found.keys()].sort()).toEqual(["a", "d/hard", "d/soft"]);
    expect([...found.values()]).toEqual(["x\n", "x\n", "x\n"]);
  });

  test("what failed is kept when that is asked for, also from the next worker", async () => {
    const keeping = await open({ keepsFailed: true });
    for (const script of ["exit 1", "true"]) await keeping.run((await job(script)).job);
    await keeping.close();
    const left = await containers();
    expect(left).toHaveLength(1);
    await runtime.check([], new AbortController().signal);
    expect(await containers()).toEqual(left);
    await engine.docker("rm", "-f", ...left);
  });

  describe("an engine", () => {
    test("that is killed and comes back has ended its containers; what they have printed is whole", async () => {
      const { job: made, output } = await job("echo one; echo two; echo ready; sleep 1000");
      const ended = runtime.run(made);
      await expect.poll(output).toContain("ready");
      await engine.kill();
      await engine.restart();
      expect(await ended).toMatchObject({ status: "Failed" });
      expect(output()).toBe("one\ntwo\nready\n");
    });

    test("that stays away has lost the step", async () => {
      const impatient = await open({ patience: 300 });
      const { job: made, output } = await job("echo ready; sleep 1000");
      const ended = impatient.run(made);
      await expect.poll(output).toContain("ready");
      await engine.kill();
      expect(await ended).toMatchObject({ status: "Failed", exitCode: null, reason: "RuntimeLost" });
      await impatient.close();
      await engine.restart();
      await engine.clear();
    });

    test("that is not there is told with what there is to do", async () => {
      const variables = { DOCKER_HOST: "unix:///nowhere/docker.sock" };
      const opened = await openDocker({ variables, build: { instance: "local" }, clock: systemClock });
      expect(opened).toMatchObject({ ok: false, error: { code: "engine-unreachable" } });
    });
  });

  describe("a docker step", () => {
    const imageStep = (args: readonly string[], more: Partial<StepPlan> = {}): Partial<StepPlan> => {
      const { entry: _entry, stepId: _stepId, ...rest } = shellStep("");
      return { ...rest, type: "docker", image: "kaniko", args, ...more };
    };
    /** `shellStep` has an entry of its own, which images have not. */
    const build = async (args: readonly string[], more: Partial<StepJob> = {}, step: Partial<StepPlan> = {}) => {
      const { job: made, output } = await job("", more, imageStep(args, step));
      return { end: await runtime.run(made), output };
    };
    const contentOf = async (image: string, path: string) =>
      (await engine.docker("run", "--rm", image, "cat", path)).out;

    test("builds from a directory of the repository without what is ignored, with its arguments, and pushes with its login", async () => {
      const registry = await startPushRegistry("me", "secret");
      await mkdir(join(work, "project/app"));
      await project("app/Dockerfile", `FROM ${testImage}\nARG A\nARG TOKEN\nCOPY . /app\nLABEL a=$A token=$TOKEN\n`);
      await project("app/kept.txt", "kept\n");
      await project("app/left.log", "left\n");
      await project("app/.dockerignore", "*.log\n");
      await project("outside.txt", "outside\n");
      const names = ["1", "latest"].map((tag) => `${registry.host}/group/app:${tag}`);
      const args = ["--dockerfile", "/mnt/repo/app/Dockerfile", "--context", "/mnt/repo/app", "--skip-tls-verify"];
      const options = [
        "--build-arg",
        "A=1",
        ...names.flatMap((name) => ["--destination", name]),
        "--build-arg",
        "TOKEN",
      ];
      const auths = { [registry.host]: { auth: Buffer.from("me:secret").toString("base64") } };
      const config = new Map([["config.json", Buffer.from(JSON.stringify({ auths }))]]);
      const { end, output } = await build([...args, ...options], {
        env: { TOKEN: "t0ken" },
        mounts: [{ path: "/kaniko/.docker", files: config }],
      });
      expect([end, output()]).toMatchObject([{ status: "Success", exitCode: 0 }, expect.stringContaining("Step 1/")]);
      expect(registry.pushed()).toEqual(["group/app:1", "group/app:latest"]);
      const [name = ""] = names;
      expect((await engine.docker("run", "--rm", name, "find", "/app", "-type", "f")).out.split("\n").sort()).toEqual([
        "",
        "/app/.dockerignore",
        "/app/Dockerfile",
        "/app/kept.txt",
      ]);
      expect((await engine.docker("inspect", "-f", "{{.Config.Labels.a}} {{.Config.Labels.token}}", name)).out).toBe(
        "1 t0ken\n",
      );
      await registry.close();
    });

    test("takes a Dockerfile from elsewhere, which is not in the image, and says a certificate in it", async () => {
      await mkdir(join(work, "project/src"));
      await project("Dockerfile", `FROM ${testImage}\nCOPY . /src\nRUN mkdir -p /etc/ssl/certs`);
      await project("src/file", "x\n");
      const text = "\nRUN cat /mnt/cert/root.crt >> /etc/ssl/certs/ca-certificates.crt\n";
      const certificate = "-----BEGIN CERTIFICATE-----\nit's $HOME\\n\n-----END CERTIFICATE-----\n";
      const bytes = Buffer.concat([await readFile(join(work, "project/Dockerfile")), Buffer.from(text)]);
      const args = [
        "--dockerfile",
        "/mnt/repo/Dockerfile",
        "--context",
        "/mnt/repo/src",
        "--destination",
        "here/app:1",
        "--no-push",
      ];
      const { end, output } = await build(
        args,
        {
          overlay: [{ path: "Dockerfile", bytes, mode: 0o644 }],
          mounts: [{ path: "/mnt/cert", files: new Map([["root.crt", Buffer.from(certificate)]]) }],
        },
        { repo: { overlay: [{ path: "Dockerfile", change: "append", text }] } },
      );
      expect([end, output()]).toMatchObject([{ status: "Success" }, expect.any(String)]);
      expect(await contentOf("here/app:1", "/etc/ssl/certs/ca-certificates.crt")).toBe(certificate);
      expect((await engine.docker("run", "--rm", "here/app:1", "ls", "-A", "/src")).out).toBe("file\n");
    });

    test("that cannot be built has failed with the builder's words; one that is cancelled has been", async () => {
      await project("Dockerfile", `FROM ${testImage}\nRUN echo told; exit 7\n`);
      const args = [
        "--dockerfile",
        "/mnt/repo/Dockerfile",
        "--context",
        "/mnt/repo",
        "--destination",
        "here/bad:1",
        "--no-push",
      ];
      const failed = await build(args);
      expect(failed.end).toMatchObject({ status: "Failed", reason: "ImageBuild", exitCode: 7 });
      expect(failed.output()).toContain("told\n");
      const none = await build(["--dockerfile", "/mnt/repo/nowhere", ...args.slice(2)]);
      expect(none.end).toMatchObject({ reason: "ImageBuild", message: expect.stringContaining("nowhere") });
      await project("Dockerfile", `FROM ${testImage}\nRUN echo begun; sleep 1000\n`);
      const cancel = new AbortController();
      const { job: made, output } = await job("", { signal: cancel.signal }, imageStep(args));
      const ended = runtime.run(made);
      await expect.poll(output).toContain("begun");
      cancel.abort();
      expect(await ended).toMatchObject({ status: "Cancelled" });
      await expect.poll(containers).toEqual([]);
    });
  });
});
