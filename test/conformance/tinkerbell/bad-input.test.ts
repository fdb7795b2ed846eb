import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pathOf, TinkerbellPlane } from "./plane.ts";

// The rows of the specification's table "Bad input and edge cases" that are about documents, one test each and in its order, on the real
// server with the real module.

const patience = { timeout: 30_000 };
let plane: TinkerbellPlane;
beforeAll(async () => {
  plane = await TinkerbellPlane.start();
});
afterAll(() => plane.close());

const created = async (...object: Parameters<TinkerbellPlane["create"]>) => {
  const answer = await plane.create(...object);
  expect(answer.status, answer.text).toBe(201);
};
const statusOf = async (name: string) => ((await plane.workflow(name))["status"] ?? {}) as Record<string, unknown>;

/** The template with these lines in its only action, or in the place of all of it. */
const oneAction = (lines: string, more = "") => `name: t
${more}tasks:
- name: install
  worker: "node-7"
  actions:
  - name: first
    image: busybox
    ${lines}
`;

/** A template of this text and a workflow of it, under one name. */
async function run(name: string, data: string, more: object = {}): Promise<void> {
  await created("templates", { data }, name);
  await created("workflows", { templateRef: name, ...more }, name);
}

/** Why a workflow is not prepared. */
async function refusalOf(name: string): Promise<string> {
  await expect
    .poll(() => plane.condition("TemplateRenderedSuccess", name), patience)
    .toMatchObject({ status: "False", reason: "Error" });
  expect((await statusOf(name))["state"] ?? "").toBe("");
  return ((await plane.condition("TemplateRenderedSuccess", name)) as { readonly message: string }).message;
}

/** The reasons of events about an object, with their words. */
async function eventsOf(name: string): Promise<readonly string[]> {
  const { json } = await plane.api.ask("GET", "/api/v1/namespaces/default/events");
  const { items } = json as unknown as {
    readonly items: readonly {
      readonly reason: string;
      readonly message: string;
      readonly involvedObject: { readonly name: string };
    }[];
  };
  return items
    .filter(({ involvedObject }) => involvedObject.name === name)
    .map(({ reason, message }) => `${reason}: ${message}`);
}

test("a workflow that names a missing template or hardware says which, and is prepared when it appears", async () => {
  await created("workflows", { templateRef: "later", hardwareRef: "machine" }, "waits");
  expect(await refusalOf("waits")).toBe("template not found");
  await created("templates", { data: oneAction("timeout: 9") }, "later");
  const message = async () =>
    ((await plane.condition("TemplateRenderedSuccess", "waits")) as Record<string, unknown>)["message"];
  await expect.poll(message, patience).toBe("hardware not found: machine");
  await created("hardware", {}, "machine");
  await expect.poll(() => statusOf("waits"), patience).toMatchObject({ state: "PENDING" });
});

test("a key that hardwareMap lacks is told with its place in the text", async () => {
  await run("no-key", oneAction("environment: {U: '{{ .img_url }}'}"));
  expect(await refusalOf("no-key")).toMatch(
    /template: workflow-template:8:\d+: executing .* map has no entry for key "img_url"$/,
  );
});

test("an unknown function is told by name", async () => {
  await run("function", oneAction(`environment: {U: '{{ secret "x" }}'}`));
  expect(await refusalOf("function")).toMatch(/template: workflow-template:8: function "secret" not defined$/);
});

test("an index that is no index of templates is told by its character", async () => {
  await run("character", oneAction("environment: {U: '{{ .a.b[0] }}'}"));
  expect(await refusalOf("character")).toMatch(/workflow-template:8: .*bad character U\+005B '\['$/);
});

test("a disk of a machine without disks is out of range", async () => {
  await created("hardware", {}, "no-disks");
  await run("range", oneAction("environment: {U: '{{ index .Hardware.Disks 0 }}'}"), { hardwareRef: "no-disks" });
  expect(await refusalOf("range")).toMatch(/error calling index: reflect: slice index out of range$/);
});

test("tabs are told with their line and why they are wrong", async () => {
  await run("tabs", "name: t\ntasks:\n\t- name: x\n");
  expect(await refusalOf("tabs")).toMatch(/yaml: line 3: .*; YAML forbids tabs for indentation$/);
});

test.each([
  ["number", 'timeout: "90"', "!!str `90` into int64"],
  ["duration", "timeout: 90s", "!!str `90s` into int64"],
  ["list", 'command: "sleep 5"', "!!str `sleep 5` into []string"],
  ["map", "environment: [A=b]", "!!seq into map[string]string"],
])("a value of another type than its field is told with its line: %s", async (name, line, words) => {
  await run(`type-${name}`, oneAction(line));
  expect(await refusalOf(`type-${name}`)).toContain(`line 8: cannot unmarshal ${words}`);
});

test.each(["Hardware", "hardware", "references"])(
  "the key %s of hardwareMap is the template's own, and people are told",
  async (key) => {
    const name = `own-${key.toLowerCase()}${key === "Hardware" ? "-struct" : ""}`;
    await run(name, oneAction("timeout: 9"), { hardwareMap: { [key]: "mine" } });
    await expect
      .poll(() => eventsOf(name), patience)
      .toContainEqual(expect.stringMatching(new RegExp(`^IgnoredField: hardwareMap.${key} `)));
    expect(await statusOf(name)).toMatchObject({ state: "PENDING" });
  },
);

test("a machine with the server of a boot file and no file is refused", async () => {
  const machine = (dhcp: object) => ({ interfaces: [{ dhcp }] });
  const alone = await plane.create("hardware", machine({ tftp_server_name: "192.0.2.1" }), "alone");
  expect(alone.status).toBe(422);
  expect(alone.json["message"]).toMatch(/spec\.interfaces\[0\]\.dhcp: Invalid value: .*both or neither$/);
  const both = { tftp_server_name: "192.0.2.1", boot_file_name: "x" };
  expect((await plane.create("hardware", machine(both), "both")).status).toBe(201);
  expect((await plane.create("hardware", machine({ boot_file_name: "" }), "neither")).status).toBe(201);
});

describe("documents of one version in the other", () => {
  test("a released workflow with a reference that is an object is refused by the field's name", async () => {
    const answer = await plane.create("workflows", { templateRef: { name: "x" } }, "mixed");
    expect(answer.status).toBe(422);
    expect(answer.json).toMatchObject({ details: { causes: [{ field: "spec.templateRef" }] } });
    expect(answer.json["message"]).toMatch(
      /: spec\.templateRef: Invalid value: "object": spec\.templateRef in body must be of type string: "object"$/,
    );
  });

  test("a workflow of v1alpha2 with a reference that is a text is refused by the field's name", async () => {
    const answer = await plane.create("workflows", { templateRef: "x" }, "mixed", "v1alpha2");
    expect(answer.status).toBe(422);
    expect(answer.json).toMatchObject({ details: { causes: [{ field: "spec.templateRef" }] } });
  });
});

test("a hardware with fields that nobody knows is stored as given, and has no interfaces for templates", async () => {
  const spec = { id: "0eba0bf8", network: { interfaces: [{ dhcp: { mac: "00:00:00:00:00:01" } }] } };
  await created("hardware", spec, "old");
  expect((await plane.api.ask("GET", `${pathOf("hardware")}/old`)).json["spec"]).toEqual(spec);
  const text = oneAction("environment: {M: '{{ (index .Hardware.Interfaces 0).DHCP.MAC }}'}");
  await run("old", text, { hardwareRef: "old" });
  expect(await refusalOf("old")).toMatch(/slice index out of range$/);
});

test.each(["/dev/sda", "node-7", "a b"])("a worker that is no address is as good as any: %s", async (worker) => {
  const name = `worker-${worker.replaceAll(/[^a-z0-9]/g, "")}`;
  await run(name, oneAction("timeout: 9").replace("node-7", worker));
  await expect.poll(() => statusOf(name), patience).toMatchObject({ state: "PENDING", agentID: worker });
});
