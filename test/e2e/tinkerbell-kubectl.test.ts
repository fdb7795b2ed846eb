import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { kubeconfigUnderTest } from "#test/support/cluster-under-test.ts";
import { startControlPlane } from "#test/support/control-plane.ts";
import { kubectlPaths } from "#test/support/kubectl.ts";
import { kubectlPlace } from "#test/support/kubectl-place.ts";
import { root } from "#test/support/slipway.ts";

// Documents of Tinkerbell as their users write them, by kubectl against the server as it is started: numbers are those of the acceptance
// list. What agents do is elsewhere.

const patience = { timeout: 60_000 };
const wf = "workflows.tinkerbell.org";

const hardware = (name: string) => `apiVersion: tinkerbell.org/v1alpha1
kind: Hardware
metadata: {name: ${name}}
spec:
  disks: [{device: /dev/nvme0n1}]
  interfaces:
  - dhcp: {mac: "08:00:27:9e:f5:3a", arch: x86_64, uefi: true, ip: {address: 192.168.56.43}}
    netboot: {allowPXE: true, allowWorkflow: true}
`;
const template = (name: string, data: string) => `apiVersion: tinkerbell.org/v1alpha1
kind: Template
metadata: {name: ${name}}
spec:
  data: |
${data.replaceAll(/^(?=.)/gm, "    ")}
`;
const workflow = (name: string, spec: string) => `apiVersion: tinkerbell.org/v1alpha1
kind: Workflow
metadata: {name: ${name}}
spec: ${spec}
`;
const plain = (name: string, worker: string) => `name: ${name}
tasks:
- name: install
  worker: ${worker}
  actions:
  - {name: first, image: "busybox:1.36"}
  - {name: second, image: "busybox:1.36"}
`;
const shapeB = (name: string, mac: string) => `apiVersion: tinkerbell.org/v1alpha2
kind: Hardware
metadata: {name: ${name}}
spec: {networkInterfaces: {"${mac}": {}}}
---
apiVersion: tinkerbell.org/v1alpha2
kind: Template
metadata: {name: ${name}}
spec: {actions: [{name: first, image: busybox}]}
---
apiVersion: tinkerbell.org/v1alpha2
kind: Workflow
metadata: {name: ${name}}
spec: {templateRef: {name: ${name}}, hardwareRef: {name: ${name}}, timeout: 60}
`;

/** Of a workflow, what its rendering has come to. */
interface RenderStatus {
  readonly state?: string;
  readonly templateRendering?: string;
  readonly conditions?: readonly { readonly type: string; readonly reason?: string; readonly message?: string }[];
}

describe.each(kubectlPaths.slice(0, 1))("%s", (path) => {
  const place = kubectlPlace(path, startControlPlane);
  const { kubectl } = place;
  const apply = async (...documents: readonly string[]) => {
    const file = join(place.directory, "documents.yaml");
    await writeFile(file, documents.join("---\n"));
    return await kubectl.must(["apply", "-f", file]);
  };
  const field = (name: string, jsonpath: string) => kubectl.must(["get", wf, name, "-o", `jsonpath={${jsonpath}}`]);
  const stateOf = (name: string) => field(name, ".status.state");

  test("1: the published template for Ubuntu, its hardware and its workflow are prepared", async () => {
    const ubuntu = await readFile(join(root, "test/conformance/tinkerbell/testdata/ubuntu.yaml"), "utf8");
    const map = '{device_1: "08:00:27:9e:f5:3a", server: 192.168.56.4}';
    await apply(
      hardware("machine1"),
      template("ubuntu", ubuntu),
      workflow("playground", `{templateRef: ubuntu, hardwareRef: machine1, hardwareMap: ${map}}`),
    );
    await expect.poll(() => stateOf("playground"), patience).toBe("PENDING");
    const names = await field("playground", ".status.tasks[0].actions[*].name");
    expect(names).toMatch(/^stream image grow partition .*kexec$/);
    const texts = await field("playground", ".status.tasks[0].actions[*].environment");
    expect(texts).toContain('"MODE":"0644"');
    expect(texts).toContain('"UID":"0"');
    expect(texts).toContain('"BLOCK_DEVICE":"/dev/nvme0n1p1"');
  });

  test("2: a workflow whose template comes later is prepared when it comes", async () => {
    await apply(workflow("early", "{templateRef: late}"));
    const message = () => field("early", '.status.conditions[?(@.type=="TemplateRenderedSuccess")].message');
    await expect.poll(message, patience).toBe("template not found");
    expect(await stateOf("early")).toBe("");
    await apply(template("late", plain("late", "node-late")));
    await expect.poll(() => stateOf("early"), patience).toBe("PENDING");
  });

  const failures: readonly (readonly [string, string, string | RegExp, string?])[] = [
    [
      "no-parse",
      "{{ .a.b[0] }}",
      /^error rendering template: failed to parse template with ID no-parse: err: template: workflow-template:1:\d*:? ?.*bad character U\+005B '\['/,
    ],
    [
      "no-key",
      "x: {{ .img_url }}",
      /^error rendering template: failed to parse template with ID no-key: err: template: workflow-template:1:6: .*map has no entry for key "img_url"$/,
    ],
    ["no-yaml", "a: [", /^error rendering template: parsing yaml data: err: yaml: line \d+: /],
    [
      "tabs",
      "tasks:\n\t- a",
      /^error rendering template: parsing yaml data: err: yaml: line 2: .*; YAML forbids tabs for indentation$/,
    ],
    ["no-name", plain("", "n").replace("name: \n", ""), /name cannot be empty or have more than 200 characters: $/],
    ["no-tasks", "name: x", /template must have at least one task defined$/],
    [
      "twice-task",
      `${plain("x", "n")}- {name: install, worker: n}\n`,
      /two tasks in a template cannot have same name \(install\)$/,
    ],
    ["twice-action", plain("x", "n").replace("second", "first"), /two actions in a task cannot have same name: first$/],
    ["bad-image", plain("x", "n").replaceAll("busybox:1.36", "Busybox"), /invalid action image \(Busybox\): /],
    ["no-worker", plain("x", '""'), /task "install": worker is empty$/],
    ["no-hardware", plain("x", "n"), "hardware not found: nobody", "nobody"],
  ];
  test("3: what cannot be rendered says so in the condition, word for word, and is not prepared", async () => {
    await apply(
      ...failures.flatMap(([name, text, , machine]) => [
        template(name, text),
        workflow(name, `{templateRef: ${name}${machine === undefined ? "" : `, hardwareRef: ${machine}`}}`),
      ]),
    );
    // One program for each of them, and not one for each field: they are many.
    const statusOf = async (name: string) =>
      (JSON.parse(await kubectl.must(["get", wf, name, "-o", "json"])) as { readonly status?: RenderStatus }).status;
    for (const [name, , expected] of failures) {
      const rendered = expect.objectContaining({ type: "TemplateRenderedSuccess", status: "False" });
      await expect.poll(async () => (await statusOf(name))?.conditions ?? [], patience).toContainEqual(rendered);
      const { conditions = [], state = "", templateRendering } = (await statusOf(name)) ?? {};
      const { message = "", reason } = conditions.find(({ type }) => type === "TemplateRenderedSuccess") ?? {};
      if (typeof expected === "string") expect(message).toBe(expected);
      else expect(message).toMatch(expected);
      expect([reason, state, templateRendering], name).toEqual(["Error", "", "failed"]);
    }
  });

  test("16: a state that is written is a cancel, and the workflow stays", async () => {
    await apply(template("written", plain("written", "node-w")), workflow("written", "{templateRef: written}"));
    await expect.poll(() => stateOf("written"), patience).toBe("PENDING");
    const patch = ["--type", "merge", "-p", '{"status":{"state":"Cancelling"}}'];
    await kubectl.must(["patch", wf, "written", "--subresource=status", ...patch]);
    await expect.poll(() => stateOf("written"), patience).toBe("CANCELED");
    expect(await field("written", ".status.failureMessage")).toBe("canceled by User");
    expect(await kubectl.must(["get", wf, "written", "-o", "name"])).toBe("workflow.tinkerbell.org/written\n");
  });

  // A cluster takes v1alpha2 for the plain name, and shows both in its columns.
  test.skipIf(kubeconfigUnderTest !== undefined)(
    "40: documents of both versions have the columns, conditions and fields of their version",
    async () => {
      await apply(
        hardware("columns"),
        template("columns", plain("columns", "node-c")),
        workflow("columns", "{templateRef: columns, hardwareRef: columns}"),
      );
      await apply(shapeB("columns-b", "52:54:00:12:34:01"));
      await expect.poll(() => stateOf("columns"), patience).toBe("PENDING");
      await expect.poll(() => stateOf("columns-b"), patience).toBe("Pending");
      const table = async (kind: string, name: string) =>
        (await kubectl.must(["get", kind, name, "-o", "wide"])).split("\n").map((line) => line.split(/\s{2,}|\s+$/));
      const [header, row] = await table(wf, "columns");
      const columns = ["TEMPLATE", "STATE", "TASK", "ACTION", "AGENT", "HARDWARE", "TEMPLATE-RENDERING", "AGE"];
      expect(header?.slice(0, 9)).toEqual(["NAME", ...columns]);
      expect(row?.slice(0, 8)).toEqual([
        "columns",
        "columns",
        "PENDING",
        "install",
        "first",
        "node-c",
        "columns",
        "successful",
      ]);
      const [headerB, rowB] = await table("workflows.v1alpha2.tinkerbell.org", "columns-b");
      expect(headerB?.slice(0, 7)).toEqual(["NAME", "STATE", "HARDWARE", "TEMPLATE", "ACTION", "REASON", "AGE"]);
      expect(rowB?.slice(0, 4)).toEqual(["columns-b", "Pending", "columns-b", "columns-b"]);
      const [headerShort, rowShort] = await table("twf", "columns");
      expect([headerShort, rowShort?.slice(0, 8)]).toEqual([header, row?.slice(0, 8)]);
      const [, seenB] = await table(wf, "columns-b");
      expect(seenB?.slice(0, 3)).toEqual(["columns-b", '{"name":"columns-b"}', "Pending"]);
      expect(seenB).toContain("52:54:00:12:34:01");
      expect(await kubectl.must(["explain", "twf.spec"])).toContain("hardwareMap");
      // A change through the plain name leaves what only the other version knows as it is.
      await kubectl.must(["patch", wf, "columns-b", "--type", "merge", "-p", '{"spec":{"timeout":61}}']);
      expect(await field("columns-b", ".spec")).toBe(
        '{"hardwareRef":{"name":"columns-b"},"templateRef":{"name":"columns-b"},"timeout":61}',
      );
      const editor = { env: { EDITOR: "sed -i s/:\\ 61/:\\ 62/" } };
      expect(await kubectl.must(["edit", wf, "columns-b"], editor)).toBe("workflow.tinkerbell.org/columns-b edited\n");
      expect(await kubectl.must(["describe", "twf", "columns-b"])).toMatch(
        /Template Ref:\s+Name: +columns-b\s+Timeout: +62\n/,
      );
      expect(await apply(shapeB("columns-b", "52:54:00:12:34:01"))).toMatch(/^workflow\S+ configured$/m);
      for (const [version, text] of [
        ["v1alpha1", "hardwareMap"],
        ["v1alpha2", "templateParams"],
      ] as const) {
        const words = ["explain", "workflows.spec", `--api-version=tinkerbell.org/${version}`];
        expect(await kubectl.must(words)).toContain(text);
      }
      expect(await kubectl.must(["describe", wf, "columns"])).toMatch(/Type: +Succeeded[\s\S]*Prepared/);
      for (const name of ["columns", "columns-b"]) {
        const wait = (status: string) =>
          kubectl.must(["wait", `--for=condition=Succeeded=${status}`, `${wf}/${name}`, "--timeout=60s"]);
        await wait("Unknown");
        const ended = wait("False");
        const patch = ["--type", "merge", "-p", '{"status":{"state":"Cancelling"}}'];
        await kubectl.must(["patch", wf, name, "--subresource=status", ...patch]);
        expect(await ended).toContain("condition met");
      }
    },
  );
});
