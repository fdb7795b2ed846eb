import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { StepPlan } from "../plan/step-plan.ts";
import type { StepJob, StepRuntime } from "./step-runtime.ts";
import { repositoryIn } from "./testing/project-repository.ts";
import { newJob, shellStep } from "./testing/step-job.ts";

export interface ContractRuntime {
  readonly runtime: StepRuntime;
  readonly image: string;
  /** Creates a secret in the runtime and returns its name. */
  readonly putSecret?: (files: Readonly<Record<string, string>>) => Promise<string>;
}

export interface ContractOptions {
  /** A program without handlers ends by SIGTERM, unless it is the first process of a container. */
  readonly endsBySignal?: boolean;
}

/** The behavior that all runtimes share. `open` is called for each test, which closes the runtime. */
export function stepRuntimeContract(
  open: () => Promise<ContractRuntime>,
  { endsBySignal = true }: ContractOptions = {},
): void {
  let work: string;
  let opened: ContractRuntime;
  let count = 0;

  beforeEach(async () => {
    work = await mkdtemp(join(tmpdir(), "slipway-steps-"));
    await mkdir(join(work, "project"));
    opened = await open();
  });
  afterEach(async () => {
    await opened.runtime.close();
    await rm(work, { recursive: true, force: true });
  });

  const job = async (script: string, more: Partial<StepJob> = {}, step: Partial<StepPlan> = {}) =>
    newJob(work, shellStep(script, { image: opened.image, stepId: ++count, ...step }), {
      repository: await repositoryIn(join(work, "project"), work),
      ...more,
    });
  const run = async (script: string, more: Partial<StepJob> = {}, step: Partial<StepPlan> = {}) => {
    const { job: made, output } = await job(script, more, step);
    return { end: await opened.runtime.run(made), output };
  };
  const project = (path: string, text: string, mode = 0o644) => writeFile(join(work, "project", path), text, { mode });

  describe("a step", () => {
    test("finds the repository with what is different for it, and its variables", async () => {
      await project("same", "same\n");
      await project("file", "old\n");
      const { end, output } = await run('cat same file; echo "$GIVEN"', {
        overlay: [{ path: "file", bytes: Buffer.from("new\n"), mode: 0o644 }],
        env: { GIVEN: "two words" },
      });
      expect(end).toMatchObject({ status: "Success", exitCode: 0 });
      expect(output()).toBe("same\nnew\ntwo words\n");
    });

    test("sees nothing of what another has written, and the project stays as it was", async () => {
      const both = ["a", "b"].map((name) => run(`echo ${name} > mine; sleep 0.2; ls`));
      const listed = (await Promise.all(both)).map(({ output }) => output());
      expect(listed).toEqual(["mine\n", "mine\n"]);
      expect((await run("ls")).output()).toBe("");
    });

    test("goes through its phases in their order", async () => {
      const phases: string[] = [];
      await run("true", { onPhase: (phase) => phases.push(phase) });
      expect(phases).toEqual(["Initializing", "Running"]);
    });

    test.each([
      ["exit 42", { status: "Failed", exitCode: 42, reason: "ExitCode", message: "exit code 42" }],
      ["no-such-command", { status: "Failed", exitCode: 127, reason: "NotFound" }],
      ["./file", { status: "Failed", exitCode: 126, reason: "NotExecutable" }],
      ["kill -9 $$", { status: "Failed", exitCode: 137, reason: "Signal", message: "killed by SIGKILL" }],
    ])("that ends with %j has failed for a reason", async (script, expected) => {
      await project("file", "text");
      const { end } = await run(script);
      expect(end).toMatchObject(expected);
    });

    test("whose program is not there has failed", async () => {
      const { end } = await run("true", {}, { entry: ["/no/such/shell", "-c"] });
      expect(end).toMatchObject({ status: "Failed", exitCode: 127, reason: "NotFound" });
    });

    test("whose repository cannot be brought has failed", async () => {
      const broken = () => {
        throw new Error("no room");
      };
      const repository = { directory: work, copyTo: () => Promise.reject(new Error("no room")), tar: broken };
      const { end } = await run("true", { repository });
      expect(end).toMatchObject({ status: "Failed", exitCode: null, reason: "Transfer", message: "no room" });
    });

    test("leaves artifacts, also when it fails", async () => {
      const script =
        'cd "$WHARF_ARTIFACTS_DIR"; mkdir a; echo text > a/b.txt; ln -s a/b.txt link; ln -s /etc/passwd out; exit 1';
      const { end } = await run(script);
      expect(end).toMatchObject({ status: "Failed", exitCode: 1 });
      expect(await artifactsOf(end)).toEqual(
        new Map([
          ["a/b.txt", "text\n"],
          ["link", "text\n"],
        ]),
      );
    });

    test("that leaves nothing has no artifacts", async () => {
      expect(await artifactsOf((await run("true")).end)).toEqual(new Map());
    });

    test("finds mounted files where its variables say", async () => {
      const [path, file, text] = ["/etc/tool", "config.json", "{}\n"];
      const name = await opened.putSecret?.({ [file]: text });
      const more = { env: { CONFIG: `${path}/${file}` } };
      const { output } = await (name === undefined
        ? run('cat "$CONFIG"', { ...more, mounts: [{ path, files: new Map([[file, Buffer.from(text)]]) }] })
        : run('cat "$CONFIG"', more, { mounts: [{ kind: "secret", name, path, readOnly: true }] }));
      expect(output()).toBe(text);
    });

    test("prints long lines and lines without an end whole, and what is no text", async () => {
      const { output } = await run(`head -c 40000 /dev/zero | tr '\\0' x; echo; printf '\\377\\376'`);
      // Engines end the last line themselves.
      const [long = "", last, ...rest] = output().split("\n");
      expect([long.length, new Set(long), last, rest.join("")]).toEqual([40_000, new Set("x"), "\ufffd\ufffd", ""]);
    });
  });

  describe("a step that is cancelled", () => {
    const cancelled = async (script: string, graceMs: number) => {
      const cancel = new AbortController();
      const { job: made, output } = await job(script, { signal: cancel.signal, graceMs });
      const ended = opened.runtime.run(made);
      await expect.poll(output).toContain("ready\n");
      cancel.abort(new Error("enough"));
      return { end: await ended, output };
    };

    test("may end politely", async () => {
      const { end, output } = await cancelled(
        "trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.05; done",
        30_000,
      );
      expect(end).toMatchObject({ status: "Cancelled", exitCode: 3 });
      expect(output()).toMatch(/^ready\n(?:.*\n)?bye\n$/);
    });

    test.runIf(endsBySignal)("ends at once when it has nothing to say to that", async () => {
      const { end } = await cancelled("echo ready; exec sleep 1000", 600_000);
      expect(end).toMatchObject({ status: "Cancelled", exitCode: 143 });
    });

    test("is killed after its grace", async () => {
      const { end } = await cancelled("trap '' TERM; echo ready; while :; do sleep 1; done", 100);
      expect(end).toMatchObject({ status: "Cancelled", exitCode: 137 });
    });

    test("before it has begun does not begin", async () => {
      const { end, output } = await run("echo begun", { signal: AbortSignal.abort() });
      expect(end).toMatchObject({ status: "Cancelled", exitCode: null });
      expect(output()).toBe("");
    });

    test("ends when everything is closed at once", async () => {
      const { job: made, output } = await job("echo ready; sleep 1000");
      const ended = opened.runtime.run(made);
      await expect.poll(output).toContain("ready");
      await opened.runtime.close();
      expect(await ended).toMatchObject({ exitCode: 137 });
    });
  });
}

export async function artifactsOf({
  artifacts,
}: Awaited<ReturnType<StepRuntime["run"]>>): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for await (const { name, open } of artifacts ?? []) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of open()) chunks.push(chunk);
    found.set(name, Buffer.concat(chunks).toString());
  }
  return found;
}
