import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "#lib/base/index.ts";
import { TemplateHost } from "#kernel/template/index.ts";
import { readYaml } from "#lib/yaml/index.ts";
import { connectApi } from "#test/support/api.ts";
import { type CommandLine, commandLine } from "#test/support/command-line.ts";
import {
  endRunner,
  exec,
  removeDirectory,
  root,
  slipway,
  slipwayBin,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";

// The first two are programs; the others are command lines in this process, where the template module is compiled once.

let home: string;
let cli: CommandLine;
let onItsServer: CommandLine;
let server: TestServer;

beforeAll(async () => {
  home = await temporaryDirectory();
  cli = await commandLine({ directory: home, host });
  server = await startServer(join(home, "server"));
  onItsServer = await commandLine({ directory: home, host, variables: { SLIPWAY_KUBECONFIG: server.kubeconfig } });
});

afterAll(async () => {
  await server.stop();
  await endRunner(server.directory);
  await removeDirectory(home);
});

/** The template module as it is built. */
const host = {
  openTemplates: () => {
    const built = (file: string) => join(root, "dist", file);
    const [program, artifact] = [built("template-thread.cjs"), built("template.wasm")];
    return Promise.resolve(new TemplateHost({ program, artifact, clock: systemClock }));
  },
};

const fleet = join(root, "examples/tinkerbell/fleet.yaml");

/** Without a control plane. */
const alone = (...args: readonly string[]) => cli.run("tink", ...args);
const onServer = (...args: readonly string[]) => onItsServer.run(...args);

test("the example renders for each of its machines, as the help says", async () => {
  const { code, out, err } = await slipway(["tink", "render", "examples/tinkerbell/fleet.yaml"], {
    env: { HOME: home },
  });
  expect(code, err).toBe(0);
  expect(err).toBe("");
  expect(out).toContain(
    "template disk-image, hardware rack1-01, at most 1800 s\n  task install, agent 52:54:00:12:34:01\n",
  );
  expect(out).toContain('       args: ["dd","if=/dev/zero","of=/dev/nvme1n1","bs=1M","count=1"]\n');
  const { out: json } = await alone("render", fleet, "--hardware", "rack1-02", "-o", "json");
  expect(JSON.parse(json)).toMatchObject([
    {
      template: "disk-image",
      hardware: "rack1-02",
      tasks: [
        { name: "install", actions: [{ name: "wipe-0" }, { name: "wipe-1" }, { env: { COMPRESSED: "true" } }, {}] },
      ],
      problems: [],
    },
  ]);
  const { out: yaml } = await alone("render", fleet, "--all-hardware", "-o", "yaml");
  expect(yaml).toMatch(/^- template: disk-image\n {2}hardware: rack1-01\n/);
});

test("a fleet with a machine that does not fit: which, where in the file, and the exit code of a wrong document", async () => {
  const text = await readFile(fleet, "utf8");
  await writeFile(join(home, "broken.yaml"), text.replace(/ {2}disks:\n {4}- device: \/dev\/sda\n/, ""));
  const { code, out, err } = await alone("render", "broken.yaml", "--all-hardware");
  expect(code).toBe(2);
  expect(out).toBe(
    "failed   disk-image for rack1-01\nrendered disk-image for rack1-02: 4 actions, agent 52:54:00:12:34:02\n",
  );
  const line = text.split("\n").findIndex((one) => one.includes("DEST_DISK")) + 1;
  expect(err).toMatch(
    new RegExp(
      `^broken\\.yaml:${line}:29: error: template: workflow-template:.*index out of range \\(hardware rack1-01\\)\n$`,
    ),
  );
});

test("the text of a template from standard input, with values", async () => {
  const text = 'name: one\ntasks: [{name: t, worker: "{{ .device }}", actions: [{name: a, image: "{{ .image }}"}]}]\n';
  const args = [slipwayBin, "tink", "render", "-", "--set", "device=node-7", "--set", "image=alpine:3"];
  const { code, out, err } = await exec(process.execPath, args, { env: { HOME: home }, input: text });
  expect(code, err).toBe(0);
  expect(out).toBe("template one\n  task t, agent node-7\n    1. a\n       image: alpine:3\n");
});

test.each([
  [
    ["render", "x.yaml", "--hardware", "a", "--all-hardware"],
    "slipway: --hardware and --all-hardware exclude each other\n",
  ],
  [
    ["rendr", "x.yaml"],
    'slipway: expected one of render, rerender, controller, server, found "rendr"; did you mean render?\n',
  ],
  [
    ["render", "x.yaml", "y.yaml", "--set", "a"],
    'error: expected --set name=value, found "a"\nx.yaml:1:1: error: cannot read x.yaml: no such file or directory\ny.yaml:1:1: error: cannot read y.yaml: no such file or directory\n',
  ],
  [["render", fleet, "--hardware", "rack9"], 'error: hardware not found: "rack9"; the files hold rack1-01, rack1-02\n'],
])("%j is wrong, all of it at once", async (args, message) => {
  const { code, err } = await alone(...args);
  expect({ code, err: err.replaceAll(/, open '.*'/g, "") }).toEqual({ code: 2, err: message });
});

/** The example, or what somebody has made of it. */
async function documentsOf(file: string, change = (text: string) => text) {
  const read = readYaml(change(await readFile(file, "utf8")));
  if (!read.ok) throw new Error("the example is no YAML");
  return read.value.documents.map(({ value }) => value as { readonly kind: string; readonly spec: object });
}

test("templates and machines of a server, and a workflow that is rendered anew while it waits", async () => {
  const api = await connectApi(server.url, server.kubeconfig);
  const collection = "/apis/tinkerbell.org/v1alpha1/namespaces/default";
  for (const document of await documentsOf(fleet))
    expect(
      (await api.ask("POST", `${collection}/${document.kind === "Template" ? "templates" : "hardware"}`, document))
        .status,
    ).toBe(201);
  const all = await onServer("tink", "render", "tpl/disk-image", "--all-hardware");
  expect(all.code, all.err).toBe(0);
  expect(all.out).toBe(
    "rendered disk-image for rack1-01: 3 actions, agent 52:54:00:12:34:01\nrendered disk-image for rack1-02: 4 actions, agent 52:54:00:12:34:02\n",
  );
  const none = await onServer("tink", "render", "template/other", "--hardware", "rack9");
  expect(none.code).toBe(2);
  expect(none.err).toBe(
    'error: template not found: "other" in namespace default\nerror: hardware not found: "rack9" in namespace default\n',
  );
  const workflow = {
    apiVersion: "tinkerbell.org/v1alpha1",
    kind: "Workflow",
    metadata: { name: "provision-1" },
    spec: { templateRef: "disk-image", hardwareRef: "rack1-01" },
  };
  await writeFile(join(home, "workflow.json"), JSON.stringify(workflow));
  const started = await onServer("run", "workflow.json", "--detach");
  expect(started.code, started.err).toBe(0);
  const actions = async () =>
    (
      await onServer(
        "get",
        "workflows.tinkerbell.org",
        "provision-1",
        "-o",
        "jsonpath={.status.tasks[0].actions[*].name}",
      )
    ).out;
  await expect.poll(actions, { timeout: 30_000 }).toBe("wipe-0 write-image set-hostname\n");
  const [template] = await documentsOf(fleet, (text) => text.replace("set-hostname", "name-machine"));
  const path = `${collection}/templates/disk-image`;
  const stored = (await api.ask("GET", path)).json;
  expect((await api.ask("PUT", path, { ...stored, spec: template?.spec })).status).toBe(200);
  api.close();
  expect(await actions()).toBe("wipe-0 write-image set-hostname\n");
  const before = await onServer("tink", "render", "twf/provision-1");
  expect(before.out, before.err).toContain("    3. name-machine\n");
  const anew = await onServer("tink", "rerender", "provision-1");
  expect(anew.code, anew.err).toBe(0);
  expect(anew.out).toBe("workflow/provision-1 rendered\n");
  expect(await actions()).toBe("wipe-0 write-image name-machine\n");
  const absent = await onServer("tink", "rerender", "provision-9");
  expect(absent.code).toBe(1);
  expect(absent.err).toContain('"provision-9" not found');
});

test("a list of actions is rendered for its machine, and anew in the version it is written in", async () => {
  const object = (kind: string, name: string, spec: object) => ({
    apiVersion: "tinkerbell.org/v1alpha2",
    kind,
    metadata: { name },
    spec,
  });
  const actions = (name: string) => [{ name, image: "busybox:1", args: ["{{ .Params.word }}"] }];
  const hardware = object("Hardware", "list-machine", { agentID: "node-b" });
  const template = object("Template", "list", { actions: actions("one") });
  const refs = { templateRef: { name: "list" }, hardwareRef: { name: "list-machine" }, templateParams: { word: "hi" } };
  const workflow = object("Workflow", "list-run", refs);
  await writeFile(
    join(home, "list.yaml"),
    [hardware, template, workflow].map((one) => JSON.stringify(one)).join("\n---\n"),
  );
  const rendered = await alone("render", "list.yaml", "--set", "word=there");
  expect(rendered.out, rendered.err).toBe(
    'workflow list-run, template list, hardware list-machine\n  agent node-b\n    1. one\n       image: busybox:1\n       args: ["there"]\n',
  );
  const run = await onServer("run", "list.yaml", "--detach");
  expect(run.code, run.err).toBe(0);
  const path = "jsonpath={.status.actions[*].rendered.name}";
  const names = async () => (await onServer("get", "workflows.tinkerbell.org", "list-run", "-o", path)).out;
  await expect.poll(names, { timeout: 30_000 }).toBe("one\n");
  const api = await connectApi(server.url, server.kubeconfig);
  const place = "/apis/tinkerbell.org/v1alpha2/namespaces/default/templates/list";
  const stored = (await api.ask("GET", place)).json;
  expect((await api.ask("PUT", place, { ...stored, spec: { actions: actions("two") } })).status).toBe(200);
  api.close();
  const anew = await onServer("tink", "rerender", "list-run");
  expect(anew.out, anew.err).toBe("workflow/list-run rendered\n");
  expect(await names()).toBe("two\n");
});

test("a dry run prints what agents would be told, in the words of a rendering, and stores nothing", async () => {
  const machine = join(root, "examples/tinkerbell/machine.yaml");
  const dry = (...args: readonly string[]) => cli.run("run", "--dry-run", ...args);
  const { code, out, err } = await dry(machine);
  expect([code, err]).toEqual([0, ""]);
  expect(out).toBe((await alone("render", machine)).out);
  expect(out).toContain("\n  task provision, agent 02:00:00:00:00:07\n    1. plan, at most 30 s\n");
  const { out: json } = await dry(machine, "-o", "json");
  expect(JSON.parse(json)).toMatchObject([{ workflow: "provision-7", hardware: "machine-7", tasks: [{}] }]);
  const bare = await dry(join(root, "examples/tinkerbell/template.yaml"), "--set", "device_1=rack-7");
  expect([bare.code, bare.err]).toEqual([0, ""]);
  expect(bare.out).toContain("agent rack-7\n");
  const wrong = await dry(join(root, "examples/tinkerbell/template.yaml"));
  expect(wrong.code).toBe(2);
  expect(wrong.out).toBe("");
  expect(wrong.err).toMatch(/template\.yaml:\d+:\d+: error: .*map has no entry for key "device_1"/);
  const both = await dry(machine, join(root, "examples/workflow/hello.yaml"));
  expect(both.code).toBe(2);
  expect(both.err).toContain("the documents contain runs of tinkerbell and workflow");
});

test("lint finds what would be refused when a template and its machine are beside each other", async () => {
  const text = await readFile(join(root, "examples/tinkerbell/machine.yaml"), "utf8");
  const lint = async (content: string, ...more: readonly string[]) => {
    await writeFile(join(home, "lint.yaml"), content);
    return await cli.run("lint", "lint.yaml", ...more);
  };
  expect(await lint(text)).toMatchObject({ code: 0, out: "", err: "3 documents, 0 errors, 0 warnings\n" });
  const wrong = await lint(
    text.replace("formatPartition (index .Hardware.Disks 0)", "formatPartition (index .Hardware.Disks 1)"),
  );
  expect(wrong).toMatchObject({ code: 2, err: "3 documents, 1 error, 0 warnings\n" });
  expect(wrong.out).toMatch(
    /^lint\.yaml:\d+:\d+: error: .*index out of range.*\(line \d+ of the text; hardware machine-7\)\n$/,
  );
  // The machine may be on the server.
  const [, ...others] = text.split("---\n");
  expect(await lint(others.join("---\n"))).toMatchObject({ code: 0, out: "" });
});
