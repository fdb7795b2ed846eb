import { afterAll, beforeAll, expect, test } from "vitest";
import { FakeClock, formatProblem } from "#lib/base/index.ts";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import type { TemplateHost } from "#kernel/template/index.ts";
import { realHost } from "#kernel/template/testing/index.ts";
import { Hardware, Template, Workflow } from "../kinds.ts";
import { begin } from "../testing/states.ts";
import { type PreviewRequest, previewTemplates } from "./request.ts";
import { fleetText, previewText } from "./text.ts";

let renderer: TemplateHost;
beforeAll(async () => {
  renderer = await realHost();
});
afterAll(() => renderer.close());

const namespace = "default";
const client = memoryClient({ clock: new FakeClock(begin), types: [Template, Hardware, Workflow] });
const noServer = () => Promise.reject(new Error("nobody may ask the server"));

/** Renders what files of these names hold. */
function preview(
  files: Readonly<Record<string, string>>,
  more: Partial<PreviewRequest> = {},
  server: () => Promise<{ readonly client: typeof client; readonly namespace: string }> = noServer,
) {
  const sources = Object.entries(files).map(([file, text]) => ({ file, text }));
  const { signal } = new AbortController();
  return previewTemplates(
    { sources, stored: { templates: [], workflows: [] }, values: {}, ...more },
    { renderer, server, signal },
  );
}

const bare = `name: install
global_timeout: 60
tasks:
  - name: disk
    worker: "{{ .device_1 }}"
    volumes: [/dev:/dev]
    environment: {A: task}
    actions:
      - name: write
        image: alpine:3
        timeout: 30
        command: [dd, "of={{ index .Hardware.Disks 0 }}"]
        environment: {A: action, MODE: 0644}
      - name: restart
        image: alpine:3
        pid: host
`;

/** As a document with the text in a block. */
const document = (text: string, header = "data: |", indent = "    ") => `apiVersion: tinkerbell.org/v1alpha1
kind: Template
metadata: {name: install}
spec:
  ${header}
${text.replaceAll(/^(?=.)/gm, indent)}`;

const machine = (name: string, disk = "/dev/sda") => `---
apiVersion: tinkerbell.org/v1alpha1
kind: Hardware
metadata: {name: ${name}, namespace: default}
spec:
  disks: [${disk === "" ? "" : `{device: ${disk}}`}]
`;

const workflow = `---
apiVersion: tinkerbell.org/v1alpha1
kind: Workflow
metadata: {name: first}
spec: {templateRef: install, hardwareRef: m1, hardwareMap: {device_1: agent-1}}
`;

const told = (answer: Awaited<ReturnType<typeof preview>>) => answer.problems.map(formatProblem);

test("a bare template comes to what an agent would be told, with what the task says merged in", async () => {
  const { previews, problems } = await preview(
    { "t.yaml": bare, "m.yaml": machine("m1") },
    { values: { device_1: "agent-1" } },
  );
  expect(problems).toEqual([]);
  expect(previews).toEqual([
    {
      template: expect.any(String),
      hardware: "m1",
      timeout: 60,
      tasks: [
        {
          name: "disk",
          agentID: "agent-1",
          actions: [
            {
              name: "write",
              image: "alpine:3",
              args: ["dd", "of=/dev/sda"],
              env: { A: "action", MODE: "0644" },
              volumes: ["/dev:/dev"],
              timeout: 30,
            },
            { name: "restart", image: "alpine:3", env: { A: "task" }, volumes: ["/dev:/dev"], pid: "host" },
          ],
        },
      ],
      problems: [],
    },
  ]);
});

test("a workflow among the files says which values and which machine, and --set comes before it", async () => {
  const files = { "all.yaml": [document(bare), machine("m0"), machine("m1", "/dev/nvme0n1"), workflow].join("") };
  const { previews } = await preview(files);
  expect(previews).toMatchObject([{ workflow: "first", hardware: "m1", tasks: [{ agentID: "agent-1" }] }]);
  const given = await preview(files, { values: { device_1: "other" } });
  expect(given.previews[0]?.tasks?.[0]?.agentID).toBe("other");
});

test("what a workflow names and nobody has is told where it is named", async () => {
  const answer = await preview({ "w.yaml": workflow, "t.yaml": document(bare.replace("install", "x")) });
  expect(told(answer)).toEqual(['w.yaml:5:43: error: spec.hardwareRef: hardware not found: "m1"']);
  const alone = await preview({ "w.yaml": workflow, "t.yaml": document(bare).replace("install}", "other}") });
  expect(told(alone)).toContain('w.yaml:5:21: error: spec.templateRef: template not found: "install"');
});

test("all machines: each is rendered, and what is wrong for several is told once", async () => {
  const files = {
    "t.yaml": document(bare),
    "m.yaml": ["m1", "m2", "m3"].map((name) => machine(name, name === "m1" ? "/dev/sda" : "")).join(""),
  };
  const answer = await preview(files, { values: { device_1: "a" }, machines: "all" });
  expect(answer.previews.map(({ hardware, tasks }) => [hardware, tasks !== undefined])).toEqual([
    ["m1", true],
    ["m2", false],
    ["m3", false],
  ]);
  expect(told(answer)).toEqual([
    expect.stringMatching(
      /^t\.yaml:17:34: error: template: workflow-template:12:29: .*slice index out of range \(hardware m2, m3\)$/,
    ),
  ]);
  expect(fleetText(answer.previews)).toBe(
    "rendered install for m1: 2 actions, agent a\nfailed   install for m2\nfailed   install for m3\n",
  );
});

test.each([
  ["a block", document(bare), "t.yaml:10:21"],
  ["a block of another indentation", document(bare, "data: |-", "          "), "t.yaml:10:27"],
  ["a bare text", bare, "t.yaml:5:17"],
])("the place of an error in %s is the file's", async (_what, text, place) => {
  const answer = await preview({ "t.yaml": text, "m.yaml": machine("m1") });
  expect(told(answer)).toEqual([expect.stringMatching(`^${place}: error: .*map has no entry for key "device_1"`)]);
});

test("where the file does not show the text's lines, the place is where it begins and the line is told", async () => {
  const text = document("", `data: ${JSON.stringify(bare)}`);
  const answer = await preview({ "t.yaml": text, "m.yaml": machine("m1") });
  expect(told(answer)).toEqual([expect.stringMatching(/^t\.yaml:5:9: error: .*\(line 5 of the text; hardware m1\)$/)]);
});

test("a line that YAML does not like is one of the rendered text, and shown", async () => {
  const text = bare.replace("timeout: 30", 'timeout: "{{ .device_1 }}"');
  const answer = await preview({ "t.yaml": document(text), "m.yaml": machine("m1") }, { values: { device_1: "90" } });
  expect(told(answer)).toEqual([
    expect.stringContaining('line 11 of the rendered text is "        timeout: \\"90\\""; hardware m1)'),
  ]);
});

test("everything that is wrong with a rendered document is told at once", async () => {
  const text = bare.replace("alpine:3", "ALPINE:3").replace("name: restart", "name: write");
  const answer = await preview({ "t.yaml": text, "m.yaml": machine("m1") }, { values: { device_1: "a" } });
  expect(told(answer)).toEqual([
    expect.stringContaining("invalid action image (ALPINE:3)"),
    expect.stringContaining("two actions in a task cannot have same name: write"),
  ]);
});

test("keys that nothing reads are warnings, and the plan is there", async () => {
  const text = bare.replace("pid: host", "on-failure: [x]");
  const { previews, problems } = await preview({ "t.yaml": text }, { values: { device_1: "a" } });
  expect(previews[0]?.tasks).toBeUndefined();
  expect(problems).toMatchObject([{ severity: "error", code: "template-execution" }]);
  const given = await preview({ "t.yaml": text, "m.yaml": machine("m1") }, { values: { device_1: "a" } });
  expect(given.previews[0]?.tasks).toHaveLength(1);
  expect(given.problems).toMatchObject([{ severity: "warning", code: "field-ignored" }]);
});

const actions = `apiVersion: tinkerbell.org/v1alpha2
kind: Template
metadata: {name: list}
spec:
  env:
    a.b: "{{ .Params.first }}"
  actions:
    - name: one
      image: alpine:3
      cmd: /bin/sh
      args: [-c, '{{ .Params.second }}']
`;

test("a list of actions is rendered for the agent of its machine, each error at its own text", async () => {
  const hardware = machine("m1").replace("disks", "agentID: agent-9\n  disks");
  const failed = await preview({ "t.yaml": actions, "m.yaml": hardware });
  expect(told(failed)).toEqual([
    expect.stringMatching(/^t\.yaml:11:29: error: spec\.actions\[0\]\.args\[1\]: .*no entry for key "second"/),
    expect.stringMatching(/^t\.yaml:6:21: error: spec\.env\.a\.b: .*no entry for key "first"/),
  ]);
  const { previews } = await preview(
    { "t.yaml": actions, "m.yaml": hardware },
    { values: { first: "1", second: "echo" } },
  );
  expect(previewText(previews[0] ?? { template: "", problems: [] })).toBe(
    [
      "template list, hardware m1",
      "  agent agent-9",
      "    1. one",
      "       image: alpine:3",
      "       cmd: /bin/sh",
      '       args: ["-c","echo"]',
      '       env: {"a.b":"1"}',
      "",
    ].join("\n"),
  );
});

test("a timeout beyond a hundred years is a failure with its place, in a template and in a workflow of v1alpha2", async () => {
  const text = bare.replace("timeout: 30", "timeout: 1000000000000");
  const hardware = machine("m1").replace("disks", "agentID: agent-9\n  disks");
  const inText = await preview({ "t.yaml": document(text), "m.yaml": hardware }, { values: { device_1: "a" } });
  expect(told(inText)).toEqual([
    expect.stringMatching(/longer than 100 years.*line 11 of the rendered text is " {8}timeout: 1000000000000"/s),
  ]);
  const workflow = `apiVersion: tinkerbell.org/v1alpha2
kind: Workflow
metadata: {name: w}
spec:
  templateRef: {name: list}
  hardwareRef: {name: m1}
  templateParams: {first: a, second: b}
  timeout: 1000000000000
`;
  const inWorkflow = await preview({ "t.yaml": actions, "m.yaml": hardware, "w.yaml": workflow });
  expect(told(inWorkflow)).toEqual([expect.stringMatching(/^w\.yaml:8:12: error: spec\.timeout: .*100 years/)]);
});

test("templates and machines of a server are rendered, and places are those of the template's text", async () => {
  const object = (kind: "Hardware" | "Template", name: string, spec: object) => ({
    apiVersion: "tinkerbell.org/v1alpha1",
    kind,
    metadata: { name, namespace },
    spec,
  });
  await client.create(Template, object("Template", "stored", { data: bare }));
  await client.create(Hardware, object("Hardware", "m7", { disks: [] }));
  await client.create(Hardware, object("Hardware", "m8", { disks: [{ device: "/dev/sdb" }] }));
  const server = () => Promise.resolve({ client, namespace });
  const all = await preview(
    {},
    { stored: { templates: ["stored"], workflows: [] }, values: { device_1: "a" }, machines: "all" },
    server,
  );
  expect(told(all)).toEqual([expect.stringMatching(/^template\/stored:12:30: error: .*\(hardware m7\)$/)]);
  expect(all.previews.map(({ hardware }) => hardware)).toEqual(["m7", "m8"]);
  const one = await preview(
    {},
    { stored: { templates: ["stored"], workflows: [] }, values: { device_1: "a" }, machines: { named: "m8" } },
    server,
  );
  expect(one.problems).toEqual([]);
  const absent = await preview(
    {},
    { stored: { templates: ["other"], workflows: [] }, machines: { named: "m9" } },
    server,
  );
  expect(told(absent)).toEqual([
    'error: template not found: "other" in namespace default',
    'error: hardware not found: "m9" in namespace default',
  ]);
});

test("a workflow of a server brings its template and its machine, and what it names in vain is told", async () => {
  const workflowOf = (name: string, spec: object) => ({
    apiVersion: "tinkerbell.org/v1alpha1",
    kind: "Workflow",
    metadata: { name, namespace },
    spec,
  });
  const object = (kind: string, name: string, spec: object) => ({ ...workflowOf(name, spec), kind });
  await client.create(Template, object("Template", "for-one", { data: bare }));
  await client.create(Hardware, object("Hardware", "of-one", { disks: [{ device: "/dev/vda" }] }));
  const spec = { templateRef: "for-one", hardwareRef: "of-one", hardwareMap: { device_1: "agent-5" } };
  await client.create(Workflow, workflowOf("one", spec));
  await client.create(Workflow, workflowOf("two", { ...spec, hardwareRef: "gone" }));
  const server = () => Promise.resolve({ client, namespace });
  const found = await preview({}, { stored: { templates: [], workflows: ["one"] } }, server);
  expect(found.problems).toEqual([]);
  expect(found.previews).toMatchObject([{ workflow: "one", hardware: "of-one", tasks: [{ agentID: "agent-5" }] }]);
  const vain = await preview({}, { stored: { templates: [], workflows: ["two", "three"] } }, server);
  expect(told(vain)).toEqual([
    'error: workflow not found: "three" in namespace default',
    'workflow/two:1:1: error: spec.hardwareRef: hardware not found: "gone"',
  ]);
});

test("a machine that is not among those of the files is not looked for elsewhere", async () => {
  const answer = await preview({ "t.yaml": bare, "m.yaml": machine("m1") }, { machines: { named: "m9" } });
  expect(told(answer)).toEqual(['error: hardware not found: "m9"; the files hold m1']);
});

test("machines may be in files of their own, and files without a template are told", async () => {
  const sources = [{ file: "m.yaml", text: machine("m5") }];
  const { previews } = await preview({ "t.yaml": bare }, { values: { device_1: "a" }, machines: { sources } });
  expect(previews).toMatchObject([{ hardware: "m5" }]);
  expect(told(await preview({ "m.yaml": machine("m1") }))).toEqual([
    "error: there is no template to render: expected a Template or the text of one",
  ]);
  const none = await preview({ "t.yaml": bare }, { machines: { sources: [{ file: "t.yaml", text: bare }] } });
  expect(told(none)).toEqual(["error: there is no hardware in t.yaml"]);
});
