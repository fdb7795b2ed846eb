import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type JsonObject, systemClock } from "#lib/base/index.ts";
import type { EphemeralControlPlane } from "#app/server/index.ts";
import { ConfigMap } from "#kernel/model/index.ts";
import { Exit } from "#kernel/command/index.ts";
import { type CommandLine, commandLine } from "#test/support/command-line.ts";

// apply, delete and wait, and what commands print as data, against a control plane in this process.

let plane: EphemeralControlPlane;
let cli: CommandLine;

beforeAll(async () => {
  const { startEphemeral } = await import("#app/server/index.ts");
  plane = await startEphemeral({
    clock: systemClock,
    version: "test",
    level: "error",
    workingDirectory: tmpdir(),
    environment: {},
    signal: new AbortController().signal,
  });
  cli = await commandLine({ client: plane.client, variables: { SLIPWAY_KUBECONFIG: "the-test" } });
});

afterAll(async () => {
  await cli.close();
  await plane.close();
});

async function file(name: string, ...objects: readonly JsonObject[]): Promise<string> {
  await writeFile(join(cli.directory, name), objects.map((object) => JSON.stringify(object)).join("\n---\n"));
  return name;
}

const map = (name: string, data: JsonObject, more: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...more },
  data,
});

const workflow = (name: string, steps: JsonObject): JsonObject => ({
  apiVersion: "slipway.dev/v1alpha1",
  kind: "Workflow",
  metadata: { name },
  spec: { steps },
});
const template = (name: string): JsonObject => ({ ...workflow(name, { a: waits }), kind: "WorkflowTemplate" });
const waits: JsonObject = { wait: { seconds: 600 } };

describe("apply", () => {
  test("creates, leaves alone and updates, object by object, also those of a List", async () => {
    const both = await file("both.yaml", map("a", { k: "1" }), {
      apiVersion: "v1",
      kind: "List",
      items: [map("b", { k: "1" })],
    });
    expect(await cli.run("apply", "-f", both)).toEqual({
      code: 0,
      out: "configmap/a created\nconfigmap/b created\n",
      err: "",
    });
    await file("both.yaml", map("a", { k: "1" }), map("b", { k: "2" }));
    expect((await cli.run("apply", both)).out).toBe("configmap/a unchanged\nconfigmap/b configured\n");
    expect((await cli.run("get", "cm", "b", "-o", "jsonpath={.data.k}")).out).toBe("2\n");
  });

  test("--dry-run=server checks and stores nothing; -o prints the objects", async () => {
    const dry = await file("dry.yaml", map("dry", { k: "1" }));
    expect((await cli.run("apply", "-f", dry, "--dry-run=server")).out).toBe(
      "configmap/dry created (server dry run)\n",
    );
    expect((await cli.run("get", "cm", "dry")).code).toBe(1);
    expect(JSON.parse((await cli.run("apply", "-f", dry, "-o", "json")).out)).toMatchObject({
      kind: "ConfigMap",
      data: { k: "1" },
    });
    expect((await cli.run("apply", "-f", dry, "-o", "name")).out).toBe("configmap/dry\n");
  });

  test("goes on after an object that is refused, and ends with 1", async () => {
    const mixed = await file("mixed.yaml", map("BAD", {}), map("good", {}));
    const { code, out, err } = await cli.run("apply", "-f", mixed);
    expect({ code, out }).toEqual({ code: 1, out: "configmap/good created\n" });
    expect(err).toContain('ConfigMap "BAD" is invalid');
  });

  test("fields of others are a conflict, unless they are taken over", async () => {
    const theirs = map("owned", { k: "theirs" }, { namespace: "default" });
    const ref = { type: ConfigMap, namespace: "default", name: "owned" };
    await plane.client.patch(ref, { type: "apply", body: theirs }, { fieldManager: "somebody" });
    const ours = await file("ours.yaml", map("owned", { k: "ours" }));
    expect(await cli.run("apply", "-f", ours)).toMatchObject({ code: 1, err: expect.stringContaining("conflict") });
    expect((await cli.run("apply", "-f", ours, "--force-conflicts")).out).toBe("configmap/owned configured\n");
  });

  test.each<[readonly string[], JsonObject, string]>([
    [[], map("x", {}, { namespace: "one" }), "configmap/x is in namespace one, but --namespace is two"],
    [[], { apiVersion: "v1", kind: "Nope", metadata: { name: "x" } }, "the server serves no kind Nope in v1"],
    [[], { apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: "x-" } }, "a ConfigMap has no metadata.name"],
  ])("%j %j is refused", async (words, object, message) => {
    const { code, err } = await cli.run("apply", "-n", "two", "-f", await file("refused.yaml", object), ...words);
    expect(code).toBe(1);
    expect(err).toContain(message);
  });

  test("a file that is no object is told by its place, and nothing is stored", async () => {
    const wrong = await file("wrong.yaml", map("unstored", {}), { kind: "ConfigMap" });
    const { code, err } = await cli.run("apply", "-f", wrong);
    expect(code).toBe(2);
    expect(err).toContain("wrong.yaml:3:1: error: expected a Kubernetes object");
    expect((await cli.run("get", "cm", "unstored")).code).toBe(1);
    expect((await cli.run("apply")).code).toBe(2);
  });
});

describe("wait", () => {
  test("meets conditions of status, paths, creation and deletion", async () => {
    await cli.run("apply", "-f", await file("w.yaml", map("w", { k: "v" })));
    for (const condition of ["jsonpath={.data.k}=v", "jsonpath=.data.k", "create"])
      expect(await cli.run("wait", "cm/w", `--for=${condition}`)).toEqual({
        code: 0,
        out: "configmap/w condition met\n",
        err: "",
      });
    const waiting = cli.run("wait", "cm", "w", "--for=delete");
    expect((await cli.run("delete", "cm", "w")).out).toBe('configmap "w" deleted\n');
    expect((await waiting).code).toBe(0);
    const made = workflow("made", { a: { template: { apiVersion: "v1", kind: "ConfigMap" } } });
    await cli.run("apply", "-f", await file("made.yaml", made));
    const { code, out } = await cli.run("wait", "-f", "made.yaml", "--for=condition=Complete", "--timeout=50s");
    expect({ code, out }).toEqual({ code: 0, out: "workflow.slipway.dev/made condition met\n" });
  });

  test("ends with 1 when the time is over, and for an object that does not exist", async () => {
    await cli.run("apply", "-f", await file("w.yaml", map("never", { k: "v" })));
    expect(await cli.run("wait", "cm/never", "--for=jsonpath={.data.k}=x", "--timeout=0")).toEqual({
      code: 1,
      out: "",
      err: "slipway: timed out waiting for the condition on configmap/never\n",
    });
    expect((await cli.run("wait", "cm/never", "--for=jsonpath={.data.k}=v", "--timeout=0")).code).toBe(0);
    expect(await cli.run("wait", "cm/none", "--for=condition=Ready")).toMatchObject({
      code: 1,
      err: 'slipway: configmaps "none" not found\n',
    });
    expect(await cli.run("wait", "cm", "-l", "no=such", "--for=create")).toMatchObject({
      code: 1,
      err: "slipway: no object matches\n",
    });
  });

  test.each([
    [["cm/a"], "--for is required"],
    [["cm/a", "--for=ready"], 'slipway: --for: "ready" is not a condition'],
    [["cm/a", "--for=create", "--timeout=soon"], "--timeout: expected a duration"],
    [["cm", "--for=create"], "name the objects of kind cm, or select them with -l or --all"],
    [["--for=create"], "name the objects: KIND NAME, KIND/NAME or -f FILE"],
  ])("%j is refused as usage", async (words, message) => {
    const { code, err } = await cli.run("wait", ...words);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });
});

describe("delete", () => {
  test("by labels, by file, and of several kinds; waits for finalizers as long as it is told to", async () => {
    const labels = { which: "these" };
    const held = map("held", {}, { finalizers: ["example.org/hold"] });
    await cli.run("apply", "-f", await file("d.yaml", map("d1", {}, { labels }), map("d2", {}, { labels }), held));
    expect((await cli.run("delete", "cm", "-l", "which=these")).out).toBe(
      'configmap "d1" deleted\nconfigmap "d2" deleted\n',
    );
    const late = await cli.run("delete", "cm/held", "--timeout=1ms");
    expect(late).toMatchObject({ code: 1, err: "slipway: timed out waiting for the deletion of configmap/held\n" });
    expect((await cli.run("delete", "cm/held", "--wait=false")).code).toBe(0);
    const waiting = cli.run("delete", "cm/held");
    await cli.until((text) => text.split('configmap "held" deleted').length > 3);
    const operations = [{ op: "remove", path: "/metadata/finalizers" }] as const;
    await plane.client.patch({ type: ConfigMap, namespace: "default", name: "held" }, { type: "json", operations });
    expect(await waiting).toMatchObject({ code: 0 });
    await cli.run("apply", "-f", await file("t.yaml", template("t"), map("t", {})));
    expect((await cli.run("delete", "-f", "t.yaml")).out).toBe(
      'workflowtemplate.slipway.dev "t" deleted\nconfigmap "t" deleted\n',
    );
  });

  test("what does not exist is a failure, unless it is to be ignored; a dry run deletes nothing", async () => {
    await cli.run("apply", "-f", await file("kept.yaml", map("kept", {})));
    expect((await cli.run("delete", "cm/kept", "--dry-run=server")).out).toBe(
      'configmap "kept" deleted (server dry run)\n',
    );
    expect((await cli.run("delete", "cm/kept", "cm/none")).code).toBe(1);
    expect(await cli.run("delete", "cm/none", "--ignore-not-found")).toEqual({ code: 0, out: "", err: "" });
  });
});

describe("data for programs", () => {
  test("run --detach -o json prints the run", async () => {
    const { out } = await cli.run(
      "run",
      await file("detached.json", workflow("detached", { a: waits })),
      "--detach",
      "-o",
      "json",
    );
    expect(JSON.parse(out)).toMatchObject({ kind: "Workflow", metadata: { name: "detached" } });
    const again = await cli.run("resubmit", "detached", "--detach", "-o", "json");
    expect(JSON.parse(again.out)).toMatchObject({ kind: "Workflow", metadata: { generateName: "detached-" } });
  });

  test.each<[readonly string[], JsonObject]>([
    [["approve", "asked", "ask"], { action: "approve", step: "ask" }],
    [["suspend", "asked"], { action: "suspend" }],
    [["resume", "asked"], { action: "resume" }],
    [["cancel", "asked"], { action: "cancel" }],
    [["retry", "asked"], { action: "retry" }],
  ])("%j -o json prints the RunAction as it was judged", async (words, spec) => {
    if (words[0] === "approve")
      await cli.run(
        "run",
        "--detach",
        await file("asked.json", workflow("asked", { ask: { approval: {} }, after: waits })),
      );
    if (words[0] === "approve") await cli.run("wait", "wf/asked", "--for=jsonpath={.status.phase}=Running");
    if (words[0] === "retry") await cli.run("wait", "wf/asked", "--for=jsonpath={.status.phase}=Canceled");
    const { code, out, err } = await cli.run(...words, "-o", "json");
    expect(code, err).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      kind: "RunAction",
      spec: { target: { name: "asked" }, ...spec },
      status: { phase: "Done" },
    });
  });

  test("a refused action is printed, too, and ends with 1", async () => {
    const { code, out, err } = await cli.run("approve", "asked", "none", "-o", "json");
    expect(code, err).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ status: { phase: "Refused" } });
  });
});

test("run says what to do with files that hold no run", async () => {
  const schedule = {
    ...workflow("nightly", {}),
    kind: "ScheduledWorkflow",
    spec: { schedule: "0 3 * * *", workflowTemplate: { spec: { steps: { a: waits } } } },
  };
  for (const [object, word] of [
    [template("greeting"), "wft/greeting"],
    [schedule, "schedule/nightly"],
  ] as const) {
    const { code, err } = await cli.run("run", await file("no-run.json", object));
    expect(code).toBe(2);
    expect(err).toBe(
      `slipway: the files contain no run, only other objects\nstore them with: slipway apply -f no-run.json\nthen run one with: slipway run ${word}\n`,
    );
  }
});

/** What a terminal shows in the end of what was written to it. */
function screenOf(text: string): string {
  const lines: string[] = [""];
  for (const part of text.split(/(\n|\x1b\[\d+A|\x1b\[0J)/)) {
    const [, up] = /^\x1b\[(\d+)A$/.exec(part) ?? [];
    if (part === "\n") lines.push("");
    else if (up !== undefined) lines.splice(lines.length - 1 - Number(up), Number(up));
    else if (part !== "\x1b[0J") lines.push(`${lines.pop() ?? ""}${part}`);
  }
  return lines.join("\n");
}

test("on a terminal the live view leaves the hint for a second Ctrl-C where it can be read", async () => {
  const interrupt = new AbortController();
  const place = { client: plane.client, variables: { SLIPWAY_KUBECONFIG: "the-test" }, signal: interrupt.signal };
  const terminal = await commandLine({ ...place, terminal: { isTerminal: true } });
  await writeFile(join(terminal.directory, "long.json"), JSON.stringify(workflow("long", { a: waits })));
  const running = terminal.run("run", "long.json");
  await terminal.until((text) => text.includes("Timer"));
  interrupt.abort(new Exit(130));
  const { err } = await running;
  await terminal.close();
  expect(screenOf(err)).toContain("slipway: canceling the run; interrupt again to stop at once\n");
});

test("get events shows both groups' Events once, without a hint to the same ones", async () => {
  await cli.run("run", "--detach", await file("told.json", workflow("told", { a: waits })));
  await expect.poll(async () => (await cli.run("get", "events")).out).toContain("workflow/told");
  expect((await cli.run("get", "events")).err).toBe("");
});
